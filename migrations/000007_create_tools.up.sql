-- Owner: tool (agent_tools, tool_calls), connection (connections, connection_operations, connection_agents).

-- What was chosen for one agent: a tool that needs assignment was assigned, or one
-- that everybody has was taken away.
CREATE TABLE agent_tools (
    agent_id    uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    tool        text NOT NULL CHECK (length(tool) BETWEEN 1 AND 100),
    enabled     boolean NOT NULL,
    chosen_by   uuid NOT NULL REFERENCES participants (id),
    inserted_at timestamptz(6) NOT NULL DEFAULT now(),
    updated_at  timestamptz(6) NOT NULL DEFAULT now(),
    PRIMARY KEY (agent_id, tool)
);
COMMENT ON TABLE agent_tools IS 'owner: tool';
ALTER TABLE agent_tools ENABLE ROW LEVEL SECURITY;

-- Every call, without arguments and without results: ids, times, what came of it.
CREATE TABLE tool_calls (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_id        uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    person_id       uuid,
    conversation_id uuid,
    task_id         uuid,
    message_id      uuid,
    tool            text NOT NULL,
    outcome         text NOT NULL CHECK (outcome IN ('done', 'refused', 'failed', 'timed_out')),
    code            text NOT NULL DEFAULT '',
    args_hash       bytea NOT NULL,
    args_bytes      integer NOT NULL,
    result_bytes    integer NOT NULL,
    untrusted       boolean NOT NULL DEFAULT false,
    approval_id     uuid,
    duration_ms     integer NOT NULL,
    inserted_at     timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE tool_calls IS 'owner: tool';
ALTER TABLE tool_calls ENABLE ROW LEVEL SECURITY;
CREATE INDEX tool_calls_agent_idx ON tool_calls (agent_id, inserted_at DESC);
CREATE INDEX tool_calls_age_idx ON tool_calls (inserted_at);
-- Has untrusted text entered this turn or task?
CREATE INDEX tool_calls_marked_message_idx ON tool_calls (agent_id, message_id) WHERE untrusted;
CREATE INDEX tool_calls_marked_task_idx ON tool_calls (agent_id, task_id) WHERE untrusted;

-- An outside HTTP service that a person lets agents call: where, with which secret.
CREATE TABLE connections (
    id              uuid PRIMARY KEY,
    owner_id        uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name            text NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,39}$'),
    description     text NOT NULL DEFAULT '' CHECK (length(description) <= 2000),
    base_url        text NOT NULL CHECK (length(base_url) <= 2000),
    auth_kind       text NOT NULL DEFAULT 'none' CHECK (auth_kind IN ('none', 'bearer', 'basic', 'header', 'query')),
    auth_name       text NOT NULL DEFAULT '' CHECK (length(auth_name) <= 100),
    sealed          bytea,
    fingerprint     text,
    shared          boolean NOT NULL DEFAULT false,
    enabled         boolean NOT NULL DEFAULT true,
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    updated_at      timestamptz(6) NOT NULL DEFAULT now(),
    UNIQUE (owner_id, name),
    CHECK ((auth_kind = 'none') = (sealed IS NULL))
);
COMMENT ON TABLE connections IS 'owner: connection';
ALTER TABLE connections ENABLE ROW LEVEL SECURITY;

-- What may be called there: everything else is refused.
CREATE TABLE connection_operations (
    connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    method        text NOT NULL CHECK (method IN ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
    path          text NOT NULL CHECK (length(path) BETWEEN 1 AND 500),
    description   text NOT NULL DEFAULT '' CHECK (length(description) <= 1000),
    ask           boolean NOT NULL DEFAULT false,
    PRIMARY KEY (connection_id, method, path)
);
COMMENT ON TABLE connection_operations IS 'owner: connection';
ALTER TABLE connection_operations ENABLE ROW LEVEL SECURITY;

CREATE TABLE connection_agents (
    connection_id uuid NOT NULL REFERENCES connections (id) ON DELETE CASCADE,
    agent_id      uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    PRIMARY KEY (connection_id, agent_id)
);
COMMENT ON TABLE connection_agents IS 'owner: connection';
ALTER TABLE connection_agents ENABLE ROW LEVEL SECURITY;
CREATE INDEX connection_agents_agent_idx ON connection_agents (agent_id);
