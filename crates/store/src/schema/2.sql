-- What the gate decided: kept by itself, for it is asked for by time, across sandboxes, and outlives them.
CREATE TABLE audit (
    seq     INTEGER PRIMARY KEY,
    at_ns   INTEGER NOT NULL,
    team    TEXT NOT NULL,
    sandbox TEXT NOT NULL,
    denied  INTEGER NOT NULL,   -- 1 when it was, or would have been, refused
    entry   TEXT NOT NULL
) STRICT;

CREATE INDEX audit_of_team ON audit (team, seq);
CREATE INDEX audit_of_sandbox ON audit (sandbox, seq);
CREATE INDEX audit_by_time ON audit (at_ns);
