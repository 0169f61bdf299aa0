-- How many changes this copy of the file has kept, and whose it is; as in the agent's file.
CREATE TABLE changes (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    host   TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 0)
) STRICT;
INSERT INTO changes (id, host, number) VALUES (1, '', 0);
