-- Owner: turn (budget_stops).

-- A stop is of one limit: a limit that was raised may be reached on the same day too, and its owner is asked again.
ALTER TABLE budget_stops DROP CONSTRAINT budget_stops_agent_id_day_key;
ALTER TABLE budget_stops ADD CONSTRAINT budget_stops_agent_day_limit_key UNIQUE (agent_id, day, tokens_per_day);
