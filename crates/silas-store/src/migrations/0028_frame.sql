-- Whose each row is: the owner's, or a customer's, an actor's, or that of an identity of a channel. Everything so far is the
-- owner's. Words of the conversation have had a scope from the beginning.
ALTER TABLE cards ADD COLUMN scope TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE work_items ADD COLUMN scope TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE executions ADD COLUMN scope TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE queue ADD COLUMN scope TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE model_calls ADD COLUMN scope TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE sessions ADD COLUMN scope TEXT NOT NULL DEFAULT 'owner';

-- What one scope is shown is found without looking at the rows of another.
DROP INDEX cards_open;
DROP INDEX cards_asking;
DROP INDEX cards_parked;
CREATE INDEX cards_open ON cards (scope, created_at, id) WHERE state IN ('open', 'parked');
CREATE INDEX cards_asking ON cards (scope, created_at, id) WHERE state = 'open';
CREATE INDEX cards_parked ON cards (scope, created_at, id) WHERE state = 'parked';
DROP INDEX executions_with_result;
CREATE INDEX executions_with_result ON executions (scope, started_at, id) WHERE result IS NOT NULL;

-- Each scope counts for itself what is on its way to it: numbers without gaps, from which nobody learns how much others are told.
ALTER TABLE channel_outbox RENAME TO channel_outbox_before;
CREATE TABLE channel_outbox (
    scope      TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    message_id TEXT NOT NULL UNIQUE,
    at         INTEGER NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO channel_outbox (scope, seq, message_id, at) SELECT 'owner', seq, message_id, at FROM channel_outbox_before;
DROP TABLE channel_outbox_before;
CREATE INDEX channel_outbox_by_age ON channel_outbox (at, scope, seq);

-- By which version of the grammar the owner's words were understood when they were kept. There was one until now.
ALTER TABLE instructions ADD COLUMN grammar INTEGER NOT NULL DEFAULT 1;
