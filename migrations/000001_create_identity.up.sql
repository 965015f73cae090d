-- Owner: participant (participants), account (accounts, identities, sessions, one_time_codes, llm_keys),
-- workspace (organizations, memberships), agent (agents).
-- Every table: random UUID keys, timestamptz(6), row level security on without policies (the server is the owner; access control is internal/access).

CREATE TABLE participants (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    kind         text NOT NULL CHECK (kind IN ('human', 'agent')),
    display_name text NOT NULL CHECK (char_length(display_name) BETWEEN 1 AND 100),
    avatar_url   text,
    status       text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'deactivated', 'deleted')),
    inserted_at  timestamptz(6) NOT NULL DEFAULT now(),
    updated_at   timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE participants IS 'owner: participant';
ALTER TABLE participants ENABLE ROW LEVEL SECURITY;

CREATE TABLE accounts (
    id                       uuid PRIMARY KEY REFERENCES participants (id),
    email                    text NOT NULL,
    first_name               text NOT NULL DEFAULT '',
    last_name                text,
    description              text NOT NULL DEFAULT '',
    metadata                 jsonb NOT NULL DEFAULT '{}',
    timezone                 text,
    locale                   text,
    location                 jsonb,
    birth_date               date,
    marketing_opt_in         boolean NOT NULL DEFAULT false,
    analytics_opt_in         boolean NOT NULL DEFAULT false,
    accepted_policy_version  text,
    accepted_policy_at       timestamptz(6),
    active_organization_id   uuid,
    notification_preferences jsonb NOT NULL DEFAULT '{}',
    settings                 jsonb NOT NULL DEFAULT '{}',
    platform_admin           boolean NOT NULL DEFAULT false,
    inserted_at              timestamptz(6) NOT NULL DEFAULT now(),
    updated_at               timestamptz(6) NOT NULL DEFAULT now(),
    deleted_at               timestamptz(6)
);
COMMENT ON TABLE accounts IS 'owner: account';
ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
CREATE UNIQUE INDEX accounts_email_key ON accounts (lower(email)) WHERE deleted_at IS NULL;

-- An account is tied to built-in passwords or to an outside provider; a provider's user id is never the account id (decision 2).
CREATE TABLE identities (
    provider      text NOT NULL,
    subject       text NOT NULL,
    account_id    uuid NOT NULL REFERENCES accounts (id),
    password_hash text,
    inserted_at   timestamptz(6) NOT NULL DEFAULT now(),
    updated_at    timestamptz(6) NOT NULL DEFAULT now(),
    PRIMARY KEY (provider, subject)
);
COMMENT ON TABLE identities IS 'owner: account';
ALTER TABLE identities ENABLE ROW LEVEL SECURITY;
CREATE INDEX identities_account_idx ON identities (account_id);

CREATE TABLE sessions (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    account_id   uuid NOT NULL REFERENCES accounts (id),
    token_hash   bytea NOT NULL UNIQUE,
    user_agent   text NOT NULL DEFAULT '',
    address      text NOT NULL DEFAULT '',
    inserted_at  timestamptz(6) NOT NULL DEFAULT now(),
    last_seen_at timestamptz(6) NOT NULL DEFAULT now(),
    expires_at   timestamptz(6) NOT NULL
);
COMMENT ON TABLE sessions IS 'owner: account';
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
CREATE INDEX sessions_account_idx ON sessions (account_id, inserted_at);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

CREATE TABLE one_time_codes (
    code_hash   bytea PRIMARY KEY,
    account_id  uuid NOT NULL REFERENCES accounts (id),
    expires_at  timestamptz(6) NOT NULL,
    inserted_at timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE one_time_codes IS 'owner: account';
ALTER TABLE one_time_codes ENABLE ROW LEVEL SECURITY;

-- A model provider key of a person. The secret is sealed by internal/secret and write-only in the API.
CREATE TABLE llm_keys (
    id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    account_id        uuid NOT NULL REFERENCES accounts (id),
    provider          text NOT NULL,
    label             text NOT NULL DEFAULT '',
    sealed            bytea NOT NULL,
    fingerprint       text NOT NULL,
    is_default        boolean NOT NULL DEFAULT false,
    status            text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'rejected')),
    last_validated_at timestamptz(6),
    inserted_at       timestamptz(6) NOT NULL DEFAULT now(),
    updated_at        timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE llm_keys IS 'owner: account';
ALTER TABLE llm_keys ENABLE ROW LEVEL SECURITY;
CREATE INDEX llm_keys_account_idx ON llm_keys (account_id, inserted_at);
CREATE UNIQUE INDEX llm_keys_default_key ON llm_keys (account_id, provider) WHERE is_default;

CREATE TABLE organizations (
    id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name        text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    avatar_url  text,
    is_personal boolean NOT NULL,
    owner_id    uuid NOT NULL REFERENCES accounts (id),
    settings    jsonb NOT NULL DEFAULT '{}',
    inserted_at timestamptz(6) NOT NULL DEFAULT now(),
    updated_at  timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE organizations IS 'owner: workspace';
ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
CREATE UNIQUE INDEX organizations_personal_key ON organizations (owner_id) WHERE is_personal;

CREATE TABLE memberships (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id      uuid NOT NULL REFERENCES accounts (id),
    role            text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    joined_at       timestamptz(6) NOT NULL DEFAULT now(),
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    updated_at      timestamptz(6) NOT NULL DEFAULT now(),
    UNIQUE (organization_id, account_id)
);
COMMENT ON TABLE memberships IS 'owner: workspace';
ALTER TABLE memberships ENABLE ROW LEVEL SECURITY;
CREATE INDEX memberships_account_idx ON memberships (account_id);
ALTER TABLE accounts ADD CONSTRAINT accounts_active_organization_fk FOREIGN KEY (active_organization_id) REFERENCES organizations (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE agents (
    id                      uuid PRIMARY KEY REFERENCES participants (id),
    owner_id                uuid NOT NULL REFERENCES accounts (id),
    description             text NOT NULL DEFAULT '',
    agent_type              text NOT NULL DEFAULT 'worker' CHECK (agent_type IN ('worker', 'orchestrator', 'reviewer', 'observer')),
    capabilities            text[] NOT NULL DEFAULT '{}',
    structured_capabilities jsonb NOT NULL DEFAULT '{}',
    metadata                jsonb NOT NULL DEFAULT '{}',
    model_config            jsonb NOT NULL DEFAULT '{}',
    settings                jsonb NOT NULL DEFAULT '{}',
    soul_md                 text NOT NULL DEFAULT '',
    runtime                 text NOT NULL DEFAULT 'local' CHECK (runtime IN ('local', 'org_host', 'external')),
    presence_mode           text NOT NULL DEFAULT 'always_on' CHECK (presence_mode IN ('always_on', 'wake_on_demand', 'manual')),
    idle_timeout_seconds    integer,
    organization_id         uuid NOT NULL REFERENCES organizations (id),
    organization_ids        uuid[],
    last_active_at          timestamptz(6),
    -- The key: `ak_<prefix>_<secret>`; looked up by prefix, compared by keyed hash; the version ties agent tokens to it (decision 3).
    key_prefix              text NOT NULL UNIQUE,
    key_hash                bytea NOT NULL,
    key_version             integer NOT NULL DEFAULT 1,
    inserted_at             timestamptz(6) NOT NULL DEFAULT now(),
    updated_at              timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE agents IS 'owner: agent';
ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
CREATE INDEX agents_owner_idx ON agents (owner_id, inserted_at);
