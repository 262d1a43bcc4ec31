-- Volumes. `record` is `hood_engine::Volume` as JSON.
CREATE TABLE volume (
    id     TEXT PRIMARY KEY,
    record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
