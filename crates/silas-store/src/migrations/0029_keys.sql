-- An operation follows from its run, its action and its place in the run, so a message may make several, and a run that no
-- message began makes some too. What was there before keeps the name that followed from its message, and has no run.
ALTER TABLE sagas RENAME TO sagas_before;
CREATE TABLE sagas (
    operation  TEXT PRIMARY KEY,
    run_key    TEXT,
    occurrence INTEGER NOT NULL CHECK (occurrence >= 0),
    message_id TEXT REFERENCES instructions (message_id),
    call       TEXT NOT NULL,
    phase      TEXT NOT NULL,
    ending     TEXT,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK (phase IN ('prepared', 'finished')),
    CHECK ((phase = 'finished') = (ending IS NOT NULL)),
    CHECK (run_key IS NOT NULL OR message_id IS NOT NULL)
) STRICT;
INSERT INTO sagas (operation, occurrence, message_id, call, phase, ending, last_error, created_at, updated_at)
    SELECT operation, 0, message_id, call, phase, ending, last_error, created_at, updated_at FROM sagas_before;
DROP TABLE sagas_before;
CREATE INDEX sagas_open ON sagas (created_at, operation) WHERE phase = 'prepared';
CREATE INDEX sagas_of_message ON sagas (message_id);
CREATE INDEX sagas_finished ON sagas (updated_at, operation) WHERE phase = 'finished';
-- What was worked out for a place of a run stands.
CREATE UNIQUE INDEX sagas_of_run ON sagas (run_key, occurrence) WHERE run_key IS NOT NULL;

-- What an entry of the ledger is called by those who refer to it, wherever in the chain it came to stand. Entries of before have
-- no name, but for those that came from the human's file.
CREATE TABLE ledger_ids (
    event_id TEXT PRIMARY KEY,
    seq      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO ledger_ids (event_id, seq) SELECT 'event-' || event_id, seq FROM drained;
DROP TABLE drained;

-- How many changes this copy of the file has kept, which host it is and which file on disk that name was given to. Every change
-- counts itself, in its own transaction, so no number is missing and none is there twice.
CREATE TABLE changes (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    host   TEXT NOT NULL,
    place  TEXT,
    number INTEGER NOT NULL CHECK (number >= 0)
) STRICT;
INSERT INTO changes (id, host, number) VALUES (1, '', 0);
