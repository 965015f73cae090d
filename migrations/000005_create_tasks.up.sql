-- Owner: task (tasks, task_assignees, task_steps, task_events, queued_tasks), ask (asks, agent_queries, scope_requests).

CREATE TABLE tasks (
    id                   uuid PRIMARY KEY,
    organization_id      uuid NOT NULL REFERENCES organizations (id),
    -- Where it was asked for, and where the work is done: the same room, or a work room of its own (T3).
    conversation_id      uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    work_conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    source_message_id    uuid,
    -- The row of the asking room that is its card.
    card_message_id      uuid,
    created_by           uuid NOT NULL REFERENCES participants (id),
    -- The person on whose behalf it is done: what the agent may do is bounded by what this person may.
    requester_id         uuid NOT NULL REFERENCES participants (id),
    parent_task_id       uuid REFERENCES tasks (id),
    root_task_id         uuid NOT NULL,
    depth                integer NOT NULL DEFAULT 0 CHECK (depth BETWEEN 0 AND 5),
    title                text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 200),
    description          text NOT NULL DEFAULT '' CHECK (char_length(description) <= 30000),
    source               text NOT NULL DEFAULT 'task',
    -- true: nobody runs it; it ends with its sub-tasks.
    fan_out              boolean NOT NULL DEFAULT false,
    status               text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'rejected', 'in_progress', 'blocked', 'waiting',
                             'complete', 'cancelled', 'failed', 'exhausted')),
    priority             integer NOT NULL DEFAULT 0 CHECK (priority BETWEEN -10 AND 10),
    version              bigint NOT NULL DEFAULT 1,
    metadata             jsonb NOT NULL DEFAULT '{}',
    depends_on           uuid[] NOT NULL DEFAULT '{}',
    deadline             timestamptz(6),
    -- The barrier of its sub-tasks: it fires once, when all, any or join_count of them have ended, or join_until has come.
    join_mode            text CHECK (join_mode IN ('all', 'any', 'count')),
    join_count           integer CHECK (join_count BETWEEN 1 AND 100),
    join_until           timestamptz(6),
    join_fired_at        timestamptz(6),
    response             text,
    summary              text,
    result_data          jsonb,
    completion_details   jsonb,
    end_kind             text CHECK (end_kind IN ('done', 'empty', 'failed', 'cancelled', 'lost', 'rejected', 'exhausted')),
    failure_code         text,
    failure_origin       text CHECK (failure_origin IN ('platform', 'tool')),
    failure_message      text,
    -- Runs that ended without an end of the task.
    attempt              integer NOT NULL DEFAULT 0,
    retry_at             timestamptz(6),
    retry_of             uuid REFERENCES tasks (id),
    -- What the next run is told beside the task: an answer, the results of sub-tasks, new instructions.
    wake_note            text,
    executor_id          uuid,
    started_at           timestamptz(6),
    ended_at             timestamptz(6),
    inserted_at          timestamptz(6) NOT NULL DEFAULT now(),
    updated_at           timestamptz(6) NOT NULL DEFAULT now(),
    CHECK ((status IN ('complete', 'failed', 'cancelled', 'rejected', 'exhausted')) = (end_kind IS NOT NULL)),
    CHECK ((end_kind IS NULL) = (ended_at IS NULL)),
    CHECK ((failure_code IS NULL) = (failure_origin IS NULL))
) WITH (fillfactor = 80);
COMMENT ON TABLE tasks IS 'owner: task';
ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
CREATE INDEX tasks_requester_idx ON tasks (requester_id, updated_at DESC, id);
CREATE INDEX tasks_creator_idx ON tasks (created_by, updated_at DESC, id);
CREATE INDEX tasks_room_idx ON tasks (conversation_id, updated_at DESC, id);
CREATE INDEX tasks_work_idx ON tasks (work_conversation_id);
CREATE INDEX tasks_parent_idx ON tasks (parent_task_id) WHERE parent_task_id IS NOT NULL;
CREATE INDEX tasks_open_child_idx ON tasks (parent_task_id) WHERE parent_task_id IS NOT NULL AND end_kind IS NULL;
CREATE INDEX tasks_parked_idx ON tasks (id) WHERE status IN ('blocked', 'waiting');
CREATE INDEX tasks_depends_idx ON tasks USING gin (depends_on) WHERE status = 'pending';
CREATE INDEX tasks_join_idx ON tasks (id) WHERE join_mode IS NOT NULL AND join_fired_at IS NULL AND end_kind IS NULL;
CREATE INDEX tasks_retry_idx ON tasks (retry_at) WHERE retry_at IS NOT NULL AND end_kind IS NULL;

CREATE TABLE task_assignees (
    task_id        uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    participant_id uuid NOT NULL REFERENCES participants (id),
    position       integer NOT NULL,
    PRIMARY KEY (task_id, participant_id)
);
COMMENT ON TABLE task_assignees IS 'owner: task';
ALTER TABLE task_assignees ENABLE ROW LEVEL SECURITY;
CREATE INDEX task_assignees_participant_idx ON task_assignees (participant_id);

-- The plan of a compound task.
CREATE TABLE task_steps (
    task_id     uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    key         text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 100),
    position    integer NOT NULL,
    title       text NOT NULL,
    prompt      text NOT NULL,
    depends_on  text[] NOT NULL DEFAULT '{}',
    status      text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'completed', 'failed', 'skipped')),
    result      jsonb,
    started_at  timestamptz(6),
    ended_at    timestamptz(6),
    inserted_at timestamptz(6) NOT NULL DEFAULT now(),
    PRIMARY KEY (task_id, key)
);
COMMENT ON TABLE task_steps IS 'owner: task';
ALTER TABLE task_steps ENABLE ROW LEVEL SECURITY;

-- What happened to a task: every transition, and the steps of its runs as they were reported.
CREATE TABLE task_events (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id     uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    version     bigint NOT NULL,
    kind        text NOT NULL,
    from_status text,
    to_status   text,
    actor_id    uuid,
    note        text,
    inserted_at timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE task_events IS 'owner: task';
ALTER TABLE task_events ENABLE ROW LEVEL SECURITY;
CREATE INDEX task_events_task_idx ON task_events (task_id, id);

-- One row while a task can be run or is run. Lease columns are in no index (decision 12).
CREATE TABLE queued_tasks (
    id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    seq               bigint GENERATED ALWAYS AS IDENTITY,
    agent_id          uuid NOT NULL REFERENCES agents (id),
    task_id           uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE UNIQUE,
    reason            text NOT NULL DEFAULT 'new' CHECK (reason IN ('new', 'retry', 'reattach', 'woken', 'answered')),
    -- The one executor that may claim it: the run that survived is there.
    bound_executor_id uuid,
    inserted_at       timestamptz(6) NOT NULL DEFAULT now(),
    lease_until       timestamptz(6),
    generation        bigint NOT NULL DEFAULT 0,
    executor_id       uuid,
    claimed_at        timestamptz(6),
    seen_at           timestamptz(6),
    answered_at       timestamptz(6),
    accepted_at       timestamptz(6),
    attempt           integer NOT NULL DEFAULT 0
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE queued_tasks IS 'owner: task';
ALTER TABLE queued_tasks ENABLE ROW LEVEL SECURITY;
CREATE INDEX queued_tasks_agent_idx ON queued_tasks (agent_id, seq);

-- A question of a run to people; the run waits for it, and its answer wakes exactly that run.
CREATE TABLE asks (
    id              uuid PRIMARY KEY,
    task_id         uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    agent_id        uuid NOT NULL REFERENCES participants (id),
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    message_id      uuid,
    asked           uuid[] NOT NULL CHECK (cardinality(asked) > 0),
    question        text NOT NULL CHECK (char_length(question) BETWEEN 1 AND 5000),
    options         jsonb NOT NULL DEFAULT '[]',
    field           text,
    default_value   text,
    status          text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'answered', 'expired', 'withdrawn')),
    answer          text,
    answered_by     uuid REFERENCES participants (id),
    expires_at      timestamptz(6) NOT NULL,
    ended_at        timestamptz(6),
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    CHECK ((status = 'open') = (ended_at IS NULL))
);
COMMENT ON TABLE asks IS 'owner: ask';
ALTER TABLE asks ENABLE ROW LEVEL SECURITY;
CREATE UNIQUE INDEX asks_open_key ON asks (task_id) WHERE status = 'open';
CREATE INDEX asks_task_idx ON asks (task_id, inserted_at);
CREATE INDEX asks_asked_idx ON asks USING gin (asked) WHERE status = 'open';
CREATE INDEX asks_due_idx ON asks (expires_at) WHERE status = 'open';
CREATE INDEX asks_room_idx ON asks (conversation_id) WHERE status = 'open';

-- A stateless question of the server to an agent's own model (bridge contract 2.10).
CREATE TABLE agent_queries (
    id            uuid PRIMARY KEY,
    agent_id      uuid NOT NULL REFERENCES agents (id),
    task_id       uuid REFERENCES tasks (id) ON DELETE CASCADE,
    label         text NOT NULL,
    system_prompt text NOT NULL,
    user_content  text NOT NULL,
    max_tokens    integer,
    tier          text CHECK (tier IN ('fast', 'deep')),
    status        text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'claimed', 'answered', 'failed', 'expired')),
    executor_id   uuid,
    answer        text,
    error         text,
    model         text,
    usage         jsonb,
    expires_at    timestamptz(6) NOT NULL,
    claimed_at    timestamptz(6),
    ended_at      timestamptz(6),
    inserted_at   timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE agent_queries IS 'owner: ask';
ALTER TABLE agent_queries ENABLE ROW LEVEL SECURITY;
CREATE INDEX agent_queries_agent_idx ON agent_queries (agent_id, inserted_at) WHERE status = 'pending';
CREATE INDEX agent_queries_due_idx ON agent_queries (expires_at) WHERE status IN ('pending', 'claimed');

-- An orchestrator asks another agent to word a task (bridge contract 2.9).
CREATE TABLE scope_requests (
    id              uuid PRIMARY KEY,
    requester_id    uuid NOT NULL REFERENCES participants (id),
    agent_id        uuid NOT NULL REFERENCES agents (id),
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    content         text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 30000),
    request_context jsonb NOT NULL DEFAULT '{}',
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'claimed', 'responded', 'expired')),
    executor_id     uuid,
    title           text,
    description     text,
    scope_message   text,
    expires_at      timestamptz(6) NOT NULL,
    claimed_at      timestamptz(6),
    ended_at        timestamptz(6),
    inserted_at     timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE scope_requests IS 'owner: ask';
ALTER TABLE scope_requests ENABLE ROW LEVEL SECURITY;
CREATE INDEX scope_requests_agent_idx ON scope_requests (agent_id, inserted_at) WHERE status = 'pending';
CREATE INDEX scope_requests_due_idx ON scope_requests (expires_at) WHERE status IN ('pending', 'claimed');
