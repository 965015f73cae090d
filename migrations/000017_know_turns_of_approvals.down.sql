DROP INDEX approvals_turn_idx;
ALTER TABLE approvals DROP CONSTRAINT approvals_turn_check, DROP COLUMN turn_generation, DROP COLUMN turn_queue_id;
