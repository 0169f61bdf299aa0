-- The human's domain: what the owner wrote and owns. Nothing that an agent makes is in here.
-- Ids and JSON are TEXT, instants are microseconds since 1970 in UTC.

-- What happened here, on its way to the ledger in the other file. With its texts gone a row is only a receipt.
CREATE TABLE outbox (
    seq        INTEGER PRIMARY KEY,
    event_id   TEXT NOT NULL UNIQUE,
    event      TEXT NOT NULL,
    texts      TEXT NOT NULL,
    at         INTEGER NOT NULL,
    drained_at INTEGER
) STRICT;
CREATE INDEX outbox_undrained ON outbox (seq) WHERE drained_at IS NULL;

CREATE TABLE tasks (
    id         TEXT PRIMARY KEY,
    title      TEXT NOT NULL,
    state      TEXT NOT NULL,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    done_at    INTEGER,
    CHECK (state IN ('open', 'done')),
    CHECK (version >= 1),
    CHECK ((state = 'done') = (done_at IS NOT NULL))
) STRICT;
CREATE INDEX tasks_open ON tasks (created_at, id) WHERE state = 'open';
CREATE INDEX tasks_done ON tasks (done_at, id) WHERE state = 'done';
CREATE TRIGGER tasks_count_their_versions BEFORE UPDATE ON tasks
WHEN NEW.id IS NOT OLD.id OR NEW.version <> OLD.version + 1
BEGIN SELECT RAISE(ABORT, 'a change of a task is its next version'); END;

-- Every version of every task, with the event that tells of it.
CREATE TABLE task_changes (
    seq      INTEGER PRIMARY KEY,
    task_id  TEXT NOT NULL REFERENCES tasks (id),
    version  INTEGER NOT NULL,
    change   TEXT NOT NULL,
    at       INTEGER NOT NULL,
    event_id TEXT NOT NULL UNIQUE REFERENCES outbox (event_id),
    UNIQUE (task_id, version)
) STRICT;
CREATE TRIGGER task_changes_are_not_edited BEFORE UPDATE ON task_changes
BEGIN SELECT RAISE(ABORT, 'what changed is append-only'); END;
CREATE TRIGGER task_changes_are_not_deleted BEFORE DELETE ON task_changes
BEGIN SELECT RAISE(ABORT, 'what changed is append-only'); END;

-- Operations of the other file that were carried out here, or called off. Either happens once.
CREATE TABLE operations (
    operation TEXT PRIMARY KEY,
    ending    TEXT NOT NULL,
    at        INTEGER NOT NULL
) STRICT;
