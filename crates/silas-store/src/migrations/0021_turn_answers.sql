-- What models answered for a message that is being answered, by the question that was asked. It is there so that a turn that
-- is begun again need not pay for the same questions again, and goes when the message has its answer.
CREATE TABLE turn_answers (
    message_id TEXT NOT NULL,
    question   TEXT NOT NULL,
    reply      TEXT NOT NULL,
    PRIMARY KEY (message_id, question)
) STRICT;
