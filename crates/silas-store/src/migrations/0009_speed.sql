-- Messages change their state with every lease, and an index whose condition is about the state is written anew each time.
-- Whether a message was put aside changes next to never, so it has a column of its own, which the state agrees with.
DROP INDEX queue_in_order;
DROP INDEX queue_of_key;
DROP INDEX queue_leased;
ALTER TABLE queue ADD COLUMN is_dead INTEGER NOT NULL DEFAULT 0 CHECK (is_dead IN (0, 1));
UPDATE queue SET is_dead = 1 WHERE state = 'dead';
CREATE INDEX queue_in_order ON queue (queue, enqueued_seq) WHERE is_dead = 0;
CREATE INDEX queue_of_key ON queue (queue, key, enqueued_seq) WHERE is_dead = 0;

-- A mark is nothing but its key and its age, so it lies in the index of its key instead of beside it.
CREATE TABLE marks (
    message_id TEXT NOT NULL,
    consumer   TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (message_id, consumer)
) STRICT, WITHOUT ROWID;
INSERT INTO marks (message_id, consumer, at) SELECT message_id, consumer, at FROM processed;
DROP TABLE processed;
ALTER TABLE marks RENAME TO processed;
CREATE INDEX processed_by_age ON processed (at);
