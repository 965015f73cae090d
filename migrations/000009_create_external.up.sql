-- Owner: external (external_sessions, agent_invites, inbox_items); agents.external_tool belongs to agent.

-- The command line tool of a person through which an agent of runtime external speaks.
ALTER TABLE agents ADD COLUMN external_tool text CHECK (external_tool IN ('claude_code', 'codex', 'other'));

-- A CLI session that a person drives and that reports itself (docs/external-sessions.md).
CREATE TABLE external_sessions (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_id        uuid NOT NULL REFERENCES agents (id),
    session_key     text NOT NULL CHECK (char_length(session_key) BETWEEN 1 AND 200),
    tool            text NOT NULL CHECK (tool IN ('claude_code', 'codex', 'other')),
    state           text NOT NULL CHECK (state IN ('running', 'waiting', 'ended')),
    end_reason      text CHECK (end_reason IN ('ended', 'lost')),
    hostname        text NOT NULL DEFAULT '',
    cwd             text NOT NULL DEFAULT '',
    branch          text NOT NULL DEFAULT '',
    repo            text NOT NULL DEFAULT '',
    model           text NOT NULL DEFAULT '',
    effort          text NOT NULL DEFAULT '',
    blocked_on      text NOT NULL DEFAULT '',
    -- Messages reach it while it runs, not only with its next turn.
    live            boolean NOT NULL DEFAULT false,
    prompts         integer NOT NULL DEFAULT 0,
    tool_calls      integer NOT NULL DEFAULT 0,
    tools           jsonb NOT NULL DEFAULT '{}',
    -- That it started was said; its end is said once after that.
    announced       boolean NOT NULL DEFAULT false,
    conversation_id uuid REFERENCES conversations (id) ON DELETE SET NULL,
    started_at      timestamptz(6) NOT NULL DEFAULT now(),
    last_event_at   timestamptz(6) NOT NULL DEFAULT now(),
    ended_at        timestamptz(6),
    UNIQUE (agent_id, session_key),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CHECK ((state = 'ended') = (end_reason IS NOT NULL))
) WITH (fillfactor = 70);
COMMENT ON TABLE external_sessions IS 'owner: external';
ALTER TABLE external_sessions ENABLE ROW LEVEL SECURITY;
CREATE INDEX external_sessions_agent_idx ON external_sessions (agent_id, started_at DESC);
CREATE INDEX external_sessions_live_idx ON external_sessions (agent_id) WHERE state <> 'ended';
-- A room shows one session.
CREATE UNIQUE INDEX external_sessions_room_key ON external_sessions (conversation_id) WHERE conversation_id IS NOT NULL;

-- The right to become an agent: a code that is shown once and stored hashed.
CREATE TABLE agent_invites (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    created_by   uuid NOT NULL REFERENCES accounts (id),
    -- NULL: every claim makes a new agent.
    agent_id     uuid REFERENCES agents (id),
    display_name text NOT NULL,
    description  text NOT NULL DEFAULT '',
    capabilities text[] NOT NULL DEFAULT '{}',
    code_prefix  text NOT NULL UNIQUE,
    code_hash    bytea NOT NULL,
    max_uses     integer NOT NULL DEFAULT 1 CHECK (max_uses BETWEEN 1 AND 100),
    uses         integer NOT NULL DEFAULT 0,
    expires_at   timestamptz(6) NOT NULL,
    revoked_at   timestamptz(6),
    last_used_at timestamptz(6),
    inserted_at  timestamptz(6) NOT NULL DEFAULT now(),
    CHECK (uses <= max_uses),
    CHECK (agent_id IS NULL OR max_uses = 1)
);
COMMENT ON TABLE agent_invites IS 'owner: external';
ALTER TABLE agent_invites ENABLE ROW LEVEL SECURITY;
CREATE INDEX agent_invites_by_idx ON agent_invites (created_by, inserted_at DESC);

-- What a session has to read, instead of a queue row: no executor will come for it.
CREATE TABLE inbox_items (
    agent_id        uuid NOT NULL REFERENCES agents (id),
    message_id      uuid NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    read_at         timestamptz(6),
    session_id      uuid REFERENCES external_sessions (id) ON DELETE SET NULL,
    PRIMARY KEY (agent_id, message_id)
);
COMMENT ON TABLE inbox_items IS 'owner: external';
ALTER TABLE inbox_items ENABLE ROW LEVEL SECURITY;
CREATE INDEX inbox_items_unread_idx ON inbox_items (agent_id, inserted_at DESC) WHERE read_at IS NULL;
CREATE INDEX inbox_items_message_idx ON inbox_items (message_id);
CREATE INDEX inbox_items_room_idx ON inbox_items (conversation_id);
