-- Owner: chat.

CREATE TABLE conversations (
    id                         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    type                       text NOT NULL CHECK (type IN ('direct', 'group', 'channel', 'task', 'session')),
    title                      text CHECK (char_length(title) <= 200),
    avatar_url                 text,
    created_by                 uuid REFERENCES participants (id),
    organization_id            uuid NOT NULL REFERENCES organizations (id),
    parent_conversation_id     uuid REFERENCES conversations (id),
    metadata                   jsonb NOT NULL DEFAULT '{}',
    agents_add_without_asking  boolean NOT NULL DEFAULT false,
    -- `<lower id>:<higher id>` of the two members of a direct room: unique per organisation (decision 6).
    direct_key                 text,
    -- Bumped by every persisted change; the `seq` of events (decision 20).
    version                    bigint NOT NULL DEFAULT 0,
    -- Dense number and time of the newest message: time is strictly increasing.
    message_seq                bigint NOT NULL DEFAULT 0,
    last_message_at            timestamptz(6),
    -- Agent messages in a row without a person (decision 9), and the limit notice already shown for it.
    agent_streak               integer NOT NULL DEFAULT 0,
    streak_notice              boolean NOT NULL DEFAULT false,
    inserted_at                timestamptz(6) NOT NULL DEFAULT now(),
    updated_at                 timestamptz(6) NOT NULL DEFAULT now(),
    deleted_at                 timestamptz(6)
);
COMMENT ON TABLE conversations IS 'owner: chat';
ALTER TABLE conversations ENABLE ROW LEVEL SECURITY;
CREATE UNIQUE INDEX conversations_direct_key ON conversations (organization_id, direct_key) WHERE direct_key IS NOT NULL AND parent_conversation_id IS NULL AND deleted_at IS NULL;
CREATE INDEX conversations_parent_idx ON conversations (parent_conversation_id) WHERE parent_conversation_id IS NOT NULL;

CREATE TABLE conversation_members (
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    participant_id  uuid NOT NULL REFERENCES participants (id),
    role            text NOT NULL DEFAULT 'member' CHECK (role IN ('admin', 'member', 'observer')),
    -- Messages up to this number are read; unread rows are counted above it.
    last_read_seq   bigint NOT NULL DEFAULT 0,
    last_read_at    timestamptz(6),
    joined_at       timestamptz(6) NOT NULL DEFAULT now(),
    PRIMARY KEY (conversation_id, participant_id)
) WITH (fillfactor = 80);
COMMENT ON TABLE conversation_members IS 'owner: chat';
ALTER TABLE conversation_members ENABLE ROW LEVEL SECURITY;
CREATE INDEX conversation_members_participant_idx ON conversation_members (participant_id);

CREATE TABLE messages (
    id                 uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    conversation_id    uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq                bigint NOT NULL,
    sender_id          uuid REFERENCES participants (id),
    sender_kind        text NOT NULL CHECK (sender_kind IN ('human', 'agent', 'system')),
    content            text NOT NULL DEFAULT '',
    content_type       text NOT NULL DEFAULT 'text',
    message_type       text,
    content_structured jsonb,
    metadata           jsonb NOT NULL DEFAULT '{}',
    parent_message_id  uuid,
    correlation_id     text,
    turn_group_id      text,
    mentions           uuid[] NOT NULL DEFAULT '{}',
    -- The sender's own name for this message (socket nonce or Idempotency-Key): the same name gives the first result again.
    client_key         text,
    inserted_at        timestamptz(6) NOT NULL DEFAULT now(),
    updated_at         timestamptz(6) NOT NULL DEFAULT now(),
    deleted_at         timestamptz(6),
    UNIQUE (conversation_id, seq)
);
COMMENT ON TABLE messages IS 'owner: chat';
ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
CREATE UNIQUE INDEX messages_client_key ON messages (sender_id, client_key) WHERE client_key IS NOT NULL;
CREATE INDEX messages_time_idx ON messages (conversation_id, inserted_at DESC);

-- What happened in a room, for clients that missed an event (decision 20).
CREATE TABLE conversation_changes (
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq             bigint NOT NULL,
    event           text NOT NULL,
    subject_id      uuid,
    payload         jsonb NOT NULL DEFAULT '{}',
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    PRIMARY KEY (conversation_id, seq)
);
COMMENT ON TABLE conversation_changes IS 'owner: chat';
ALTER TABLE conversation_changes ENABLE ROW LEVEL SECURITY;
CREATE INDEX conversation_changes_age_idx ON conversation_changes (inserted_at);
