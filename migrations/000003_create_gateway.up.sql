-- Owner: executor (executors), turn (queued_messages, turns, receipts, usage_records, runtime_faults, cli_tool_uses).

CREATE TABLE executors (
    id             uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_id       uuid NOT NULL REFERENCES agents (id),
    executor_key   text NOT NULL,
    display_name   text NOT NULL DEFAULT '',
    capabilities   text[] NOT NULL DEFAULT '{}',
    connection_type text NOT NULL DEFAULT 'long_poll',
    max_concurrent integer NOT NULL DEFAULT 1 CHECK (max_concurrent BETWEEN 1 AND 64),
    instance_id    text NOT NULL DEFAULT '',
    bridge_version text NOT NULL DEFAULT '',
    ours           boolean NOT NULL DEFAULT false,
    device_name    text,
    metadata       jsonb NOT NULL DEFAULT '{}',
    backend_health jsonb NOT NULL DEFAULT '{}',
    metrics        jsonb NOT NULL DEFAULT '{}',
    status         text NOT NULL DEFAULT 'online' CHECK (status IN ('online', 'offline', 'disabled')),
    last_seen_at   timestamptz(6) NOT NULL DEFAULT now(),
    registered_at  timestamptz(6) NOT NULL DEFAULT now(),
    inserted_at    timestamptz(6) NOT NULL DEFAULT now(),
    updated_at     timestamptz(6) NOT NULL DEFAULT now(),
    UNIQUE (agent_id, executor_key)
) WITH (fillfactor = 80);
COMMENT ON TABLE executors IS 'owner: executor';
ALTER TABLE executors ENABLE ROW LEVEL SECURITY;

-- One row per (agent, message) that waits or is being worked on. Lease columns are in no index, so that claim and extend are HOT updates (decision 12).
CREATE TABLE queued_messages (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    agent_id        uuid NOT NULL REFERENCES agents (id),
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    message_id      uuid NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    -- The claim.
    lease_until     timestamptz(6),
    generation      bigint NOT NULL DEFAULT 0,
    executor_id     uuid,
    claimed_at      timestamptz(6),
    seen_at         timestamptz(6),
    answered_at     timestamptz(6),
    answer_id       uuid,
    stale_refused   boolean NOT NULL DEFAULT false,
    -- The agent said explicitly that it will not answer (end_turn), and why.
    passed_reason   text,
    attempt         integer NOT NULL DEFAULT 0,
    UNIQUE (message_id, agent_id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE queued_messages IS 'owner: turn';
ALTER TABLE queued_messages ENABLE ROW LEVEL SECURITY;
CREATE INDEX queued_messages_agent_idx ON queued_messages (agent_id, seq);
CREATE INDEX queued_messages_room_idx ON queued_messages (conversation_id, agent_id, seq);

-- A finished turn: immutable. One row per (agent, message), also for merged ones (turn_id names the turn that answered).
CREATE TABLE turns (
    id              uuid PRIMARY KEY,
    agent_id        uuid NOT NULL REFERENCES agents (id),
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    message_id      uuid NOT NULL,
    queue_id        uuid NOT NULL,
    generation      bigint NOT NULL,
    executor_id     uuid,
    outcome         text NOT NULL CHECK (outcome IN ('answered', 'merged', 'passed', 'unanswered', 'failed', 'expired', 'stopped')),
    merged_into     uuid,
    answer_id       uuid,
    error_code      text,
    error_message   text,
    model           text,
    backend         text,
    attempt         integer NOT NULL DEFAULT 1,
    tool_calls      integer NOT NULL DEFAULT 0,
    iterations      integer NOT NULL DEFAULT 0,
    input_tokens    bigint NOT NULL DEFAULT 0,
    output_tokens   bigint NOT NULL DEFAULT 0,
    cache_read_tokens bigint NOT NULL DEFAULT 0,
    cache_write_tokens bigint NOT NULL DEFAULT 0,
    duration_ms     bigint,
    queued_at       timestamptz(6) NOT NULL,
    started_at      timestamptz(6),
    ended_at        timestamptz(6) NOT NULL DEFAULT now(),
    UNIQUE (agent_id, message_id)
);
COMMENT ON TABLE turns IS 'owner: turn';
ALTER TABLE turns ENABLE ROW LEVEL SECURITY;
CREATE INDEX turns_agent_idx ON turns (agent_id, ended_at DESC);
CREATE INDEX turns_message_idx ON turns (message_id);
CREATE INDEX turns_queue_idx ON turns (queue_id);
CREATE INDEX turns_answer_idx ON turns (answer_id) WHERE answer_id IS NOT NULL;

CREATE TABLE usage_records (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_id        uuid NOT NULL REFERENCES agents (id),
    conversation_id uuid,
    turn_id         uuid,
    model           text NOT NULL DEFAULT '',
    input_tokens    bigint NOT NULL DEFAULT 0,
    output_tokens   bigint NOT NULL DEFAULT 0,
    cache_read_tokens bigint NOT NULL DEFAULT 0,
    cache_write_tokens bigint NOT NULL DEFAULT 0,
    turn            jsonb NOT NULL DEFAULT '{}',
    inserted_at     timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE usage_records IS 'owner: turn';
ALTER TABLE usage_records ENABLE ROW LEVEL SECURITY;
CREATE INDEX usage_records_agent_idx ON usage_records (agent_id, inserted_at DESC);

CREATE TABLE runtime_faults (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_id        uuid NOT NULL REFERENCES agents (id),
    kind            text NOT NULL,
    conversation_id uuid,
    message_id      uuid,
    detail          text NOT NULL DEFAULT '',
    meta            jsonb NOT NULL DEFAULT '{}',
    inserted_at     timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE runtime_faults IS 'owner: turn';
ALTER TABLE runtime_faults ENABLE ROW LEVEL SECURITY;
CREATE INDEX runtime_faults_agent_idx ON runtime_faults (agent_id, inserted_at DESC);

CREATE TABLE cli_tool_uses (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_id        uuid NOT NULL REFERENCES agents (id),
    conversation_id uuid,
    name            text NOT NULL,
    uses            integer NOT NULL DEFAULT 1,
    inserted_at     timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE cli_tool_uses IS 'owner: turn';
ALTER TABLE cli_tool_uses ENABLE ROW LEVEL SECURITY;
CREATE INDEX cli_tool_uses_agent_idx ON cli_tool_uses (agent_id, inserted_at DESC);

-- Stable parts of directives by content hash: what an agent was told (K7).
CREATE TABLE directive_parts (
    hash        bytea PRIMARY KEY,
    agent_id    uuid NOT NULL REFERENCES agents (id),
    body        jsonb NOT NULL,
    inserted_at timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE directive_parts IS 'owner: turn';
ALTER TABLE directive_parts ENABLE ROW LEVEL SECURITY;
CREATE INDEX directive_parts_agent_idx ON directive_parts (agent_id, inserted_at DESC);
