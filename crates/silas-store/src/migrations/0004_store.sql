-- Who listens to Silas, what is on its way to them, and by which settled things are found when their time is over.

-- One row for each device that follows the Stream, for as long as it does, and one for each command in a terminal.
CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    session_type TEXT NOT NULL CHECK (session_type IN ('stream', 'side')),
    key_id       TEXT,
    title        TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_active  INTEGER NOT NULL,
    turn_count   INTEGER NOT NULL,
    connections  INTEGER NOT NULL CHECK (connections >= 0),
    acknowledged INTEGER NOT NULL,
    CHECK ((session_type = 'stream') = (key_id IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX sessions_of_device ON sessions (key_id) WHERE key_id IS NOT NULL;
CREATE INDEX sessions_by_age ON sessions (last_active, id);
CREATE INDEX sessions_connected ON sessions (id) WHERE connections > 0;
CREATE INDEX sessions_side ON sessions (id) WHERE session_type = 'side';

-- What every channel is to show, in order. The words are in the chronicle; here is only that they are on their way.
CREATE TABLE channel_outbox (
    seq        INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL UNIQUE,
    at         INTEGER NOT NULL
) STRICT;
CREATE INDEX channel_outbox_by_age ON channel_outbox (at, seq);

CREATE INDEX tokens_by_expiry ON tokens (expires_at, token_id);
CREATE INDEX tokens_of_card ON tokens (card_id) WHERE card_id IS NOT NULL;
CREATE INDEX executions_of_work ON executions (work_item_id, id);
CREATE INDEX work_items_by_age ON work_items (updated_at, id);
CREATE INDEX work_items_of_trace ON work_items (trace_id, id);
CREATE INDEX instructions_by_age ON instructions (at, message_id);
CREATE INDEX sagas_of_message ON sagas (message_id);
CREATE INDEX sagas_finished ON sagas (updated_at, operation) WHERE phase = 'finished';
