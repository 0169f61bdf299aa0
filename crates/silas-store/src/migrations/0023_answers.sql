-- Which message an entry answers, and what came of that message: answered, done, begun, asked or refused. Both are absent for
-- what answers nobody, and for everything that was said before.
ALTER TABLE chronicle ADD COLUMN answers TEXT;
ALTER TABLE chronicle ADD COLUMN came_of TEXT;

-- What the planner answered to a question of work that is under way, by that question. Like executor_answers it goes when the
-- work has its end.
CREATE TABLE consulted_answers (
    execution_id TEXT NOT NULL,
    question     TEXT NOT NULL,
    reply        TEXT NOT NULL,
    PRIMARY KEY (execution_id, question)
) STRICT;
