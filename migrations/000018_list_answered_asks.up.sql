-- Owner: ask (asks).
-- What a person was asked and what came of it is listed by person.
CREATE INDEX asks_history_idx ON asks USING gin (asked) WHERE status <> 'open' AND approval_id IS NULL;
