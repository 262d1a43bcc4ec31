-- Secrets. A value is sealed with a key that lies in a file of its own; names are in lower case.
CREATE TABLE secret (
    id       TEXT PRIMARY KEY,
    team     TEXT NOT NULL,
    name     TEXT NOT NULL,
    version  INTEGER NOT NULL,
    sealed   BLOB NOT NULL,
    metadata TEXT NOT NULL,   -- JSON object of strings
    created_ns INTEGER NOT NULL,
    updated_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX secret_name ON secret (team, name);
