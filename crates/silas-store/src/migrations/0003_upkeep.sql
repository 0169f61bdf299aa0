-- What keeps the rest in order: signed heads of the ledger, and indexes by which old things are found.

-- Each says, signed by the server key, which hash an entry had when it was written.
CREATE TABLE checkpoints (
    seq       INTEGER PRIMARY KEY,
    statement TEXT NOT NULL
) STRICT;
CREATE TRIGGER checkpoints_are_not_edited BEFORE UPDATE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'a checkpoint stays as it was signed'); END;
CREATE TRIGGER checkpoints_are_not_deleted BEFORE DELETE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'a checkpoint stays as it was signed'); END;

CREATE INDEX chronicle_by_age ON chronicle (at, seq);
CREATE INDEX cards_settled ON cards (created_at, id) WHERE state IN ('answered', 'closed');
CREATE INDEX executions_settled ON executions (ended_at, id) WHERE result IS NOT NULL AND ended_at IS NOT NULL;
