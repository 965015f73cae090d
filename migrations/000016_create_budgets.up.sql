-- Owner: turn (agent_budgets, budget_stops), approval (member_requests).

-- How many tokens an agent may use in a day of its owner.
CREATE TABLE agent_budgets (
    agent_id       uuid PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    tokens_per_day bigint NOT NULL CHECK (tokens_per_day > 0),
    zone           text NOT NULL DEFAULT 'UTC',
    set_by         uuid NOT NULL REFERENCES accounts (id),
    updated_at     timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE agent_budgets IS 'owner: turn';
ALTER TABLE agent_budgets ENABLE ROW LEVEL SECURITY;

-- The day on which an agent had work and no tokens left, and what its owner says to it.
CREATE TABLE budget_stops (
    id             uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_id       uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    day            date NOT NULL,
    tokens_per_day bigint NOT NULL,
    used           bigint NOT NULL,
    status         text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'continued', 'raised', 'kept')),
    decided_by     uuid REFERENCES accounts (id),
    decided_at     timestamptz(6),
    -- The end of that day.
    expires_at     timestamptz(6) NOT NULL,
    inserted_at    timestamptz(6) NOT NULL DEFAULT now(),
    UNIQUE (agent_id, day),
    CHECK ((status = 'pending') = (decided_at IS NULL))
);
COMMENT ON TABLE budget_stops IS 'owner: turn';
ALTER TABLE budget_stops ENABLE ROW LEVEL SECURITY;
CREATE INDEX budget_stops_open_idx ON budget_stops (agent_id) WHERE status = 'pending';

-- An agent asks the administrators of a room to let somebody in.
CREATE TABLE member_requests (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations (id),
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    agent_id        uuid NOT NULL REFERENCES agents (id),
    participant_id  uuid NOT NULL REFERENCES participants (id),
    task_id         uuid,
    reason          text NOT NULL DEFAULT '' CHECK (char_length(reason) <= 2000),
    -- Resolved when asked, never widened later.
    approvers       uuid[] NOT NULL CHECK (cardinality(approvers) > 0),
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'denied', 'expired')),
    decided_by      uuid REFERENCES participants (id),
    decided_at      timestamptz(6),
    expires_at      timestamptz(6) NOT NULL,
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    CHECK ((status = 'pending') = (decided_at IS NULL)),
    CHECK ((status IN ('approved', 'denied')) = (decided_by IS NOT NULL))
);
COMMENT ON TABLE member_requests IS 'owner: approval';
ALTER TABLE member_requests ENABLE ROW LEVEL SECURITY;
CREATE UNIQUE INDEX member_requests_open_key ON member_requests (conversation_id, participant_id) WHERE status = 'pending';
CREATE INDEX member_requests_approvers_idx ON member_requests USING gin (approvers) WHERE status = 'pending';
CREATE INDEX member_requests_agent_idx ON member_requests (agent_id) WHERE status = 'pending';
CREATE INDEX member_requests_due_idx ON member_requests (expires_at) WHERE status = 'pending';
