-- Results that wait for a decision are counted before every rehearsal and looked through at every start.
CREATE INDEX executions_by_state ON executions (state, started_at, id);
