DROP TRIGGER tasks_wait_for_something ON tasks;
DROP FUNCTION tasks_wait_for_something();
DROP TRIGGER asks_follow_approvals ON approvals;
DROP FUNCTION asks_follow_approvals();
DROP INDEX approvals_task_idx;
DELETE FROM asks WHERE approval_id IS NOT NULL;
ALTER TABLE asks DROP COLUMN approval_id;
