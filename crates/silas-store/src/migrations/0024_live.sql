-- What is in force is found by indexes of its own: what was used up, ran out or was taken back long ago is not read again.
CREATE INDEX tokens_live ON tokens (kind, expires_at, token_id)
    WHERE verdict = 'approved' AND revoked_at IS NULL AND executions_used < max_executions;
-- A directory, a model or a passkey stays allowed after its decision was used.
CREATE INDEX tokens_standing ON tokens (kind, expires_at, token_id)
    WHERE verdict = 'approved' AND revoked_at IS NULL AND kind IN ('root', 'model', 'device');
DROP INDEX tokens_of_kind;

-- Which state the decisions are in, so that whoever keeps what is in force in memory sees when to look again. A mark is never
-- used twice, not even where a transaction was undone.
CREATE TABLE token_changes (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    mark INTEGER NOT NULL
) STRICT;
INSERT INTO token_changes (id, mark) VALUES (1, 0);
CREATE TRIGGER tokens_change_by_insert AFTER INSERT ON tokens
BEGIN UPDATE token_changes SET mark = random() WHERE id = 1; END;
CREATE TRIGGER tokens_change_by_update AFTER UPDATE ON tokens
BEGIN UPDATE token_changes SET mark = random() WHERE id = 1; END;
CREATE TRIGGER tokens_change_by_delete AFTER DELETE ON tokens
BEGIN UPDATE token_changes SET mark = random() WHERE id = 1; END;

-- What waits now, apart from what nobody answered in time and nobody put away, which may be years of it.
CREATE INDEX cards_asking ON cards (created_at, id) WHERE state = 'open';
CREATE INDEX cards_by_expiry ON cards (expires_at, id) WHERE state = 'open';
CREATE INDEX cards_parked ON cards (created_at, id) WHERE state = 'parked';
