-- The agent's domain: what Silas makes and must not forget.
-- Ids and JSON are TEXT, instants are microseconds since 1970 in UTC.

CREATE TABLE ledger (
    seq   INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    event TEXT NOT NULL,
    body  TEXT NOT NULL,
    prev  TEXT NOT NULL,
    hash  TEXT NOT NULL
) STRICT;

-- The chain itself shows tampering; these triggers keep honest code from doing it by mistake.
-- The insert trigger also stops INSERT OR REPLACE, which would delete without asking a delete trigger.
CREATE TRIGGER ledger_grows_by_one BEFORE INSERT ON ledger
WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM ledger)
BEGIN SELECT RAISE(ABORT, 'the ledger only grows at its end'); END;
CREATE TRIGGER ledger_is_not_edited BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_not_cut BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

-- Forgetting a text takes its salt along, or a short text could be guessed from its digest.
CREATE TABLE texts (
    digest    TEXT PRIMARY KEY,
    salt      TEXT,
    text      TEXT,
    erased_at INTEGER,
    CHECK ((text IS NULL) = (erased_at IS NOT NULL)),
    CHECK ((text IS NULL) = (salt IS NULL))
) STRICT;
CREATE TRIGGER texts_are_only_erased BEFORE UPDATE ON texts
WHEN NEW.digest IS NOT OLD.digest OR NEW.text IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a text of the ledger can be erased, not edited'); END;
CREATE TRIGGER texts_are_not_deleted BEFORE DELETE ON texts
BEGIN SELECT RAISE(ABORT, 'a text of the ledger can be erased, not deleted'); END;

CREATE TABLE settings (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE devices (
    key_id      TEXT PRIMARY KEY,
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    issued_at   INTEGER NOT NULL,
    certificate TEXT NOT NULL
) STRICT;
CREATE INDEX devices_by_age ON devices (issued_at, key_id);

CREATE TABLE nonces (
    domain TEXT NOT NULL,
    nonce  TEXT NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (domain, nonce)
) STRICT;
CREATE INDEX nonces_by_age ON nonces (at);

CREATE TABLE chronicle (
    seq    INTEGER PRIMARY KEY,
    id     TEXT NOT NULL UNIQUE,
    scope  TEXT NOT NULL,
    sender TEXT NOT NULL,
    taint  TEXT NOT NULL,
    text   TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT;
CREATE INDEX chronicle_of_scope ON chronicle (scope, seq);

-- What is on its way. The order within a key is that of enqueued_seq; the fence grows with every holder.
CREATE TABLE queue (
    enqueued_seq INTEGER PRIMARY KEY,
    message_id   TEXT NOT NULL UNIQUE,
    queue        TEXT NOT NULL,
    key          TEXT NOT NULL,
    kind         TEXT NOT NULL,
    body         TEXT NOT NULL,
    trace_id     TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('ready', 'leased', 'dead')),
    attempts     INTEGER NOT NULL,
    available_at INTEGER NOT NULL,
    lease_holder TEXT,
    lease_until  INTEGER,
    fence        INTEGER NOT NULL,
    CHECK ((state = 'leased') = (lease_holder IS NOT NULL AND lease_until IS NOT NULL))
) STRICT;
CREATE INDEX queue_in_order ON queue (queue, enqueued_seq) WHERE state <> 'dead';
CREATE INDEX queue_of_key ON queue (queue, key, enqueued_seq) WHERE state <> 'dead';
CREATE INDEX queue_leased ON queue (enqueued_seq) WHERE state = 'leased';
CREATE INDEX queue_dead ON queue (enqueued_seq) WHERE state = 'dead';

CREATE TABLE processed (
    message_id TEXT NOT NULL,
    consumer   TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (message_id, consumer)
) STRICT;
CREATE INDEX processed_by_age ON processed (at);

CREATE TABLE work_items (
    id         TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    state      TEXT NOT NULL,
    trace_id   TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE cards (
    id         TEXT PRIMARY KEY,
    state      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    subject    TEXT NOT NULL,
    card       TEXT NOT NULL
) STRICT;
CREATE INDEX cards_open ON cards (created_at, id) WHERE state IN ('open', 'parked');
CREATE INDEX cards_of_subject ON cards (subject, created_at, id);

CREATE TABLE tokens (
    token_id        TEXT PRIMARY KEY,
    kind            TEXT NOT NULL,
    verdict         TEXT NOT NULL,
    token           TEXT NOT NULL,
    certificate     TEXT NOT NULL,
    payload         TEXT NOT NULL,
    card_id         TEXT,
    executions_used INTEGER NOT NULL,
    max_executions  INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    revoked_at      INTEGER,
    CHECK (executions_used BETWEEN 0 AND max_executions)
) STRICT;
CREATE INDEX tokens_of_kind ON tokens (kind, verdict, expires_at, token_id);

CREATE TABLE executions (
    id           TEXT PRIMARY KEY,
    token_id     TEXT NOT NULL REFERENCES tokens (token_id),
    work_item_id TEXT NOT NULL,
    plan_hash    TEXT NOT NULL,
    state        TEXT NOT NULL,
    use_number   INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    undo_until   INTEGER,
    result       TEXT,
    changeset    TEXT,
    UNIQUE (token_id, use_number)
) STRICT;
CREATE INDEX executions_undoable ON executions (undo_until, id) WHERE state = 'applied';
CREATE INDEX executions_with_result ON executions (started_at, id) WHERE result IS NOT NULL;
