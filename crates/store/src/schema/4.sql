-- Snapshots of sandboxes. `record` is `hood_engine::Snapshot` as JSON.
CREATE TABLE snapshot (
    id     TEXT PRIMARY KEY,
    record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
