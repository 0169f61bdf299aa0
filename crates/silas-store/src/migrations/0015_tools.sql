-- What a model answered in a piece of work that is under way, in order, with what the work had used up by then. It is there
-- so that work that is begun again need not be paid for again, and goes when the work has its end.
CREATE TABLE executor_answers (
    execution_id TEXT NOT NULL,
    n            INTEGER NOT NULL CHECK (n >= 0),
    reply        TEXT NOT NULL,
    tokens       INTEGER NOT NULL CHECK (tokens >= 0),
    microusd     INTEGER NOT NULL CHECK (microusd >= 0),
    PRIMARY KEY (execution_id, n)
) STRICT;
