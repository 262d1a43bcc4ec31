-- Records are JSON, so that a new field needs no migration; what is searched for is a column too.
CREATE TABLE sandbox (
    id       TEXT PRIMARY KEY,
    record   TEXT NOT NULL,
    ended_ns INTEGER,           -- NULL while it lives
    removed  INTEGER NOT NULL   -- 1 when the driver has removed every trace
) STRICT, WITHOUT ROWID;

CREATE INDEX sandbox_ended ON sandbox (ended_ns) WHERE ended_ns IS NOT NULL;

CREATE TABLE log (
    seq     INTEGER PRIMARY KEY,
    sandbox TEXT NOT NULL,
    at_ns   INTEGER NOT NULL,
    line    TEXT NOT NULL
) STRICT;

CREATE INDEX log_of ON log (sandbox, at_ns, seq);

CREATE TABLE sample (
    seq     INTEGER PRIMARY KEY,
    sandbox TEXT NOT NULL,
    at_ns   INTEGER NOT NULL,
    sample  TEXT NOT NULL
) STRICT;

CREATE INDEX sample_of ON sample (sandbox, at_ns, seq);

CREATE TABLE api_key (
    hash    BLOB PRIMARY KEY,   -- SHA-256 of the key; the key itself is nowhere
    team    TEXT NOT NULL,
    name    TEXT NOT NULL,
    created INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT, WITHOUT ROWID;
