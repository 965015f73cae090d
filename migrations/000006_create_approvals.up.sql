-- Owner: approval (approvals, approval_grants, queued_approvals, credential_requests).

-- One question to people: may this agent run exactly this? (S1, docs/approvals.md). A decided row is history and never changes again, but for the
-- marks of its one use (used_at) and of the run that was told (told_at).
CREATE TABLE approvals (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id uuid NOT NULL REFERENCES organizations (id),
    agent_id        uuid NOT NULL REFERENCES agents (id),
    conversation_id uuid REFERENCES conversations (id) ON DELETE SET NULL,
    task_id         uuid,
    source          text NOT NULL CHECK (source IN ('bridge', 'tool')),
    tool_name       text NOT NULL CHECK (char_length(tool_name) BETWEEN 1 AND 200),
    -- Canonical JSON of {"input":…,"tool":…} and its SHA-256 in hex. Text and not jsonb: its bytes are what is approved.
    action          text NOT NULL,
    action_hash     text NOT NULL,
    edited_action   text,
    edited_hash     text,
    description     text NOT NULL DEFAULT '',
    reason          text NOT NULL DEFAULT '',
    risk            text NOT NULL CHECK (risk IN ('low', 'medium', 'high', 'critical')),
    scope_kind      text NOT NULL CHECK (scope_kind IN ('exec', 'dir', 'host', 'domain', 'exact', 'any')),
    scope_facet     text,
    -- Resolved when asked, never widened later. Nobody else sees or decides it.
    approvers       uuid[] NOT NULL CHECK (cardinality(approvers) > 0),
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'edited', 'denied', 'expired', 'superseded', 'cancelled')),
    decided_by      uuid REFERENCES participants (id),
    decided_at      timestamptz(6),
    decision_scope  text CHECK (decision_scope IN ('once', 'exact', 'room', 'pattern')),
    decision_text   text NOT NULL DEFAULT '',
    grant_id        uuid,
    -- A durable request: who resumes which run, and the bridge's own notes for it.
    durable         boolean NOT NULL DEFAULT false,
    executor_id     uuid REFERENCES executors (id),
    run_id          text,
    tool_use_id     text,
    resume          text,
    used_at         timestamptz(6),
    use_key         text,
    told_at         timestamptz(6),
    told_executor_id uuid,
    told_queue_id   uuid,
    told_generation bigint,
    told_outcome    text CHECK (told_outcome IN ('resumed', 'failed')),
    expires_at      timestamptz(6) NOT NULL,
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    CHECK (NOT durable OR (executor_id IS NOT NULL AND run_id IS NOT NULL)),
    CHECK ((status IN ('approved', 'edited', 'denied')) = (decided_by IS NOT NULL OR grant_id IS NOT NULL)),
    CHECK ((status = 'edited') = (edited_action IS NOT NULL AND edited_hash IS NOT NULL))
);
COMMENT ON TABLE approvals IS 'owner: approval';
ALTER TABLE approvals ENABLE ROW LEVEL SECURITY;
CREATE INDEX approvals_approvers_idx ON approvals USING gin (approvers);
CREATE INDEX approvals_agent_idx ON approvals (agent_id, inserted_at DESC);
CREATE INDEX approvals_due_idx ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_room_idx ON approvals (conversation_id) WHERE status = 'pending';
CREATE INDEX approvals_told_idx ON approvals (told_queue_id) WHERE told_queue_id IS NOT NULL;
-- One gated call at a time of a run.
CREATE UNIQUE INDEX approvals_run_key ON approvals (agent_id, run_id) WHERE status = 'pending' AND run_id IS NOT NULL;

-- A standing yes: expiring, listed, revocable, counted.
CREATE TABLE approval_grants (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_id        uuid NOT NULL REFERENCES agents (id),
    granted_by      uuid NOT NULL REFERENCES accounts (id),
    tool_name       text NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('exec', 'dir', 'host', 'domain', 'exact', 'any')),
    facet           text,
    action_hash     text,
    -- NULL = wherever the agent works; else in this room only.
    conversation_id uuid REFERENCES conversations (id) ON DELETE CASCADE,
    uses            bigint NOT NULL DEFAULT 0,
    last_used_at    timestamptz(6),
    expires_at      timestamptz(6) NOT NULL,
    revoked_at      timestamptz(6),
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    CHECK ((kind = 'exact') = (action_hash IS NOT NULL)),
    CHECK (kind <> 'any' OR conversation_id IS NOT NULL),
    CHECK (kind IN ('exact', 'any') OR facet IS NOT NULL)
);
COMMENT ON TABLE approval_grants IS 'owner: approval';
ALTER TABLE approval_grants ENABLE ROW LEVEL SECURITY;
CREATE INDEX approval_grants_agent_idx ON approval_grants (agent_id, tool_name) WHERE revoked_at IS NULL;
CREATE INDEX approval_grants_by_idx ON approval_grants (granted_by, inserted_at DESC);

-- A run that waits to hear what was decided. Lease columns are in no index (decision 12).
CREATE TABLE queued_approvals (
    id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    seq               bigint GENERATED ALWAYS AS IDENTITY,
    agent_id          uuid NOT NULL REFERENCES agents (id),
    approval_id       uuid NOT NULL UNIQUE REFERENCES approvals (id),
    -- Only this executor can resume the run.
    bound_executor_id uuid NOT NULL,
    inserted_at       timestamptz(6) NOT NULL DEFAULT now(),
    lease_until       timestamptz(6),
    generation        bigint NOT NULL DEFAULT 0,
    executor_id       uuid,
    claimed_at        timestamptz(6),
    seen_at           timestamptz(6),
    answered_at       timestamptz(6),
    attempt           integer NOT NULL DEFAULT 0
) WITH (fillfactor = 60);
COMMENT ON TABLE queued_approvals IS 'owner: approval';
ALTER TABLE queued_approvals ENABLE ROW LEVEL SECURITY;
CREATE INDEX queued_approvals_agent_idx ON queued_approvals (agent_id, seq);

-- An agent asks its owner for a secret. The value is sealed by internal/secret and write-only in the API.
CREATE TABLE credential_requests (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id uuid NOT NULL REFERENCES organizations (id),
    agent_id        uuid NOT NULL REFERENCES agents (id),
    owner_id        uuid NOT NULL REFERENCES accounts (id),
    conversation_id uuid REFERENCES conversations (id) ON DELETE SET NULL,
    task_id         uuid,
    label           text NOT NULL CHECK (char_length(label) BETWEEN 1 AND 200),
    reason          text NOT NULL DEFAULT '',
    endpoint        text,
    auth_mode       text,
    auth_header     text,
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'fulfilled', 'denied', 'expired')),
    credential_id   uuid UNIQUE,
    sealed          bytea,
    fingerprint     text,
    resolved_at     timestamptz(6),
    last_used_at    timestamptz(6),
    uses            bigint NOT NULL DEFAULT 0,
    expires_at      timestamptz(6) NOT NULL,
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    CHECK ((status = 'fulfilled') = (credential_id IS NOT NULL))
);
COMMENT ON TABLE credential_requests IS 'owner: approval';
ALTER TABLE credential_requests ENABLE ROW LEVEL SECURITY;
CREATE INDEX credential_requests_owner_idx ON credential_requests (owner_id, inserted_at DESC);
CREATE INDEX credential_requests_agent_idx ON credential_requests (agent_id, inserted_at DESC);
CREATE INDEX credential_requests_due_idx ON credential_requests (expires_at) WHERE status = 'pending';
