-- What reaches into the human's domain: the owner's own words as approvals, the operations that follow from them, and
-- which events of the human's file the ledger has.

CREATE TABLE instructions (
    message_id  TEXT PRIMARY KEY,
    signed      TEXT NOT NULL,
    certificate TEXT NOT NULL,
    at          INTEGER NOT NULL
) STRICT;

-- An instruction is used up by its row here: its operation follows from the message, so there is no second one.
CREATE TABLE sagas (
    operation  TEXT PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES instructions (message_id),
    call       TEXT NOT NULL,
    phase      TEXT NOT NULL,
    ending     TEXT,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK (phase IN ('prepared', 'finished')),
    CHECK ((phase = 'finished') = (ending IS NOT NULL))
) STRICT;
CREATE INDEX sagas_open ON sagas (created_at, operation) WHERE phase = 'prepared';

CREATE TABLE drained (
    event_id TEXT PRIMARY KEY,
    seq      INTEGER NOT NULL UNIQUE REFERENCES ledger (seq)
) STRICT;
