-- Calls of models. A row without a cost is a call that is under way or was cut off: its whole reserve counts as spent.
CREATE TABLE model_calls (
    id            TEXT PRIMARY KEY,
    message_id    TEXT,
    role          TEXT NOT NULL,
    model         TEXT NOT NULL,
    day           TEXT NOT NULL,
    month         TEXT NOT NULL,
    at            INTEGER NOT NULL,
    reserved      INTEGER NOT NULL CHECK (reserved >= 0),
    cost          INTEGER CHECK (cost >= 0),
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX model_calls_by_day ON model_calls (day);
CREATE INDEX model_calls_by_month ON model_calls (month);
CREATE INDEX model_calls_by_time ON model_calls (at);

-- What the owner added to the cap of a day or a month.
CREATE TABLE budget_extensions (
    token_id TEXT PRIMARY KEY,
    period   TEXT NOT NULL,
    microusd INTEGER NOT NULL CHECK (microusd >= 0)
) STRICT;
CREATE INDEX budget_extensions_by_period ON budget_extensions (period);
