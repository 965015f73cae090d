-- Owner: memory (conversation_memories, conversation_memory_changes, agent_memories, family_memories), agent (agent_souls).

-- What is worth knowing about a conversation, one document that its members keep.
CREATE TABLE conversation_memories (
    conversation_id uuid PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
    memory          jsonb NOT NULL CHECK (jsonb_typeof(memory) = 'object'),
    version         integer NOT NULL CHECK (version >= 0),
    updated_by      uuid REFERENCES participants (id),
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    updated_at      timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE conversation_memories IS 'owner: memory';
ALTER TABLE conversation_memories ENABLE ROW LEVEL SECURITY;

-- How it came to be: the newest changes, bounded for each conversation.
CREATE TABLE conversation_memory_changes (
    conversation_id uuid NOT NULL REFERENCES conversation_memories (conversation_id) ON DELETE CASCADE,
    version         integer NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('patch', 'replace')),
    diff            jsonb NOT NULL,
    reason          text NOT NULL DEFAULT '' CHECK (char_length(reason) <= 500),
    changed_by      uuid REFERENCES participants (id),
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    PRIMARY KEY (conversation_id, version)
);
COMMENT ON TABLE conversation_memory_changes IS 'owner: memory';
ALTER TABLE conversation_memory_changes ENABLE ROW LEVEL SECURITY;

-- What one agent keeps for itself. source_* say where it learned it and caller_id for
-- whom it worked then: recall is filtered by who asks. untrusted: text of strangers
-- had entered that turn.
CREATE TABLE agent_memories (
    id                     uuid PRIMARY KEY,
    agent_id               uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    category               text NOT NULL CHECK (category IN ('fact', 'preference', 'learning', 'relationship', 'skill')),
    key                    text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 200),
    content                text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 8000),
    confidence             real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    description            text CHECK (char_length(description) <= 1000),
    tags                   text[] NOT NULL DEFAULT '{}',
    metadata               jsonb NOT NULL DEFAULT '{}',
    source_conversation_id uuid REFERENCES conversations (id) ON DELETE SET NULL,
    source_message_id      uuid,
    source_task_id         uuid,
    caller_id              uuid,
    untrusted              boolean NOT NULL DEFAULT false,
    search                 tsvector GENERATED ALWAYS AS (to_tsvector('english', key || ' ' || coalesce(description, '') || ' ' || content)) STORED,
    inserted_at            timestamptz(6) NOT NULL DEFAULT now(),
    updated_at             timestamptz(6) NOT NULL DEFAULT now(),
    UNIQUE (agent_id, category, key)
);
COMMENT ON TABLE agent_memories IS 'owner: memory';
ALTER TABLE agent_memories ENABLE ROW LEVEL SECURITY;
CREATE INDEX agent_memories_newest_idx ON agent_memories (agent_id, updated_at DESC);
CREATE INDEX agent_memories_source_idx ON agent_memories (source_conversation_id) WHERE source_conversation_id IS NOT NULL;

-- What all agents of one owner share, everywhere or in one workspace.
CREATE TABLE family_memories (
    id                     uuid PRIMARY KEY,
    owner_id               uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    organization_id        uuid REFERENCES organizations (id) ON DELETE CASCADE,
    category               text NOT NULL CHECK (category IN ('fact', 'preference', 'learning', 'relationship', 'skill')),
    key                    text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 200),
    content                text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 8000),
    confidence             real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    description            text CHECK (char_length(description) <= 1000),
    tags                   text[] NOT NULL DEFAULT '{}',
    metadata               jsonb NOT NULL DEFAULT '{}',
    source_conversation_id uuid REFERENCES conversations (id) ON DELETE SET NULL,
    source_message_id      uuid,
    source_task_id         uuid,
    last_written_by        uuid REFERENCES participants (id),
    untrusted              boolean NOT NULL DEFAULT false,
    search                 tsvector GENERATED ALWAYS AS (to_tsvector('english', key || ' ' || coalesce(description, '') || ' ' || content)) STORED,
    inserted_at            timestamptz(6) NOT NULL DEFAULT now(),
    updated_at             timestamptz(6) NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (owner_id, organization_id, category, key)
);
COMMENT ON TABLE family_memories IS 'owner: memory';
ALTER TABLE family_memories ENABLE ROW LEVEL SECURITY;
CREATE INDEX family_memories_newest_idx ON family_memories (owner_id, updated_at DESC);
CREATE INDEX family_memories_source_idx ON family_memories (source_conversation_id) WHERE source_conversation_id IS NOT NULL;

-- The souls that an agent had before: what was replaced, by whom, when.
CREATE TABLE agent_souls (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent_id    uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    soul_md     text NOT NULL,
    replaced_by uuid REFERENCES participants (id),
    inserted_at timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE agent_souls IS 'owner: agent';
ALTER TABLE agent_souls ENABLE ROW LEVEL SECURITY;
CREATE INDEX agent_souls_agent_idx ON agent_souls (agent_id, id DESC);
