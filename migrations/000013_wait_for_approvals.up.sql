-- Owner: ask (asks), task (tasks), approval (approvals).
-- A run of a task that stops at a request for approval waits on a question that stands for it, so that a task always waits for something that
-- people see. The database closes that question with the request, whoever ends it.
ALTER TABLE asks ADD COLUMN approval_id uuid UNIQUE REFERENCES approvals (id);
CREATE INDEX approvals_task_idx ON approvals (task_id) WHERE task_id IS NOT NULL;

-- Tasks that wait for a request now.
INSERT INTO asks (id, task_id, agent_id, conversation_id, asked, question, expires_at, approval_id, inserted_at)
SELECT DISTINCT ON (t.id) gen_random_uuid(), t.id, a.agent_id, t.work_conversation_id, a.approvers, 'May I use ' || a.tool_name || '?', a.expires_at, a.id, a.inserted_at
FROM tasks t JOIN approvals a ON a.task_id = t.id AND a.durable AND a.status = 'pending'
WHERE t.status IN ('blocked', 'waiting') AND NOT EXISTS (SELECT 1 FROM asks k WHERE k.task_id = t.id AND k.status = 'open')
ORDER BY t.id, a.inserted_at DESC;

CREATE FUNCTION asks_follow_approvals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE asks SET status = CASE WHEN NEW.status IN ('approved', 'edited', 'denied') THEN 'answered' WHEN NEW.status = 'expired' THEN 'expired' ELSE 'withdrawn' END,
        answer = CASE WHEN NEW.status IN ('approved', 'edited', 'denied') THEN NEW.status END, answered_by = NEW.decided_by, ended_at = now()
    WHERE approval_id = NEW.id AND status = 'open';
    RETURN NULL;
END $$;
CREATE TRIGGER asks_follow_approvals AFTER UPDATE OF status ON approvals FOR EACH ROW
    WHEN (OLD.status = 'pending' AND NEW.status <> 'pending') EXECUTE FUNCTION asks_follow_approvals();

-- Checked at the end of the transaction that parks it: a task of an agent waits on an open question or on the barrier of its parts. People may park
-- what they do themselves.
CREATE FUNCTION tasks_wait_for_something() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM tasks t WHERE t.id = NEW.id AND t.status IN ('blocked', 'waiting') AND (t.join_mode IS NULL OR t.join_fired_at IS NOT NULL)
            AND NOT EXISTS (SELECT 1 FROM asks k WHERE k.task_id = t.id AND k.status = 'open')
            AND EXISTS (SELECT 1 FROM task_assignees s JOIN agents g ON g.id = s.participant_id WHERE s.task_id = t.id)) THEN
        RAISE EXCEPTION 'task % is parked and waits for nothing', NEW.id USING ERRCODE = 'check_violation', CONSTRAINT = 'tasks_wait_for_something', TABLE = 'tasks';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER tasks_wait_for_something AFTER INSERT OR UPDATE OF status ON tasks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.status IN ('blocked', 'waiting')) EXECUTE FUNCTION tasks_wait_for_something();
