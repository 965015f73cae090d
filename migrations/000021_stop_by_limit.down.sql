DELETE FROM budget_stops s USING budget_stops later WHERE later.agent_id = s.agent_id AND later.day = s.day AND (later.inserted_at, later.id) > (s.inserted_at, s.id);
ALTER TABLE budget_stops DROP CONSTRAINT budget_stops_agent_day_limit_key;
ALTER TABLE budget_stops ADD CONSTRAINT budget_stops_agent_id_day_key UNIQUE (agent_id, day);
