-- Results that wait for a decision are counted before every rehearsal and looked through at every start.
CREATE INDEX executions_waiting ON executions (started_at, id) WHERE state = 'rehearsed';
