-- Owner: approval (approval_rules, approval_votes, approvals).

-- When two people have to allow something: set by an agent's owner for the agent, or by who runs a workspace for every agent there.
CREATE TABLE approval_rules (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id uuid REFERENCES organizations (id) ON DELETE CASCADE,
    agent_id        uuid REFERENCES agents (id) ON DELETE CASCADE,
    -- From this risk on.
    least_risk      text NOT NULL CHECK (least_risk IN ('low', 'medium', 'high', 'critical')),
    -- Who may decide beside the agent's owner.
    deciders        uuid[] NOT NULL CHECK (cardinality(deciders) BETWEEN 1 AND 20),
    set_by          uuid NOT NULL REFERENCES accounts (id),
    updated_at      timestamptz(6) NOT NULL DEFAULT now(),
    CHECK ((organization_id IS NULL) <> (agent_id IS NULL))
);
COMMENT ON TABLE approval_rules IS 'owner: approval';
ALTER TABLE approval_rules ENABLE ROW LEVEL SECURITY;
CREATE UNIQUE INDEX approval_rules_agent_key ON approval_rules (agent_id) WHERE agent_id IS NOT NULL;
CREATE UNIQUE INDEX approval_rules_organization_key ON approval_rules (organization_id) WHERE organization_id IS NOT NULL;

-- Who has allowed an open request that two have to allow. A change of what would run removes them: nobody has allowed that yet.
CREATE TABLE approval_votes (
    approval_id uuid NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    person_id   uuid NOT NULL REFERENCES participants (id),
    action_hash text NOT NULL,
    inserted_at timestamptz(6) NOT NULL DEFAULT now(),
    PRIMARY KEY (approval_id, person_id)
);
COMMENT ON TABLE approval_votes IS 'owner: approval';
ALTER TABLE approval_votes ENABLE ROW LEVEL SECURITY;

ALTER TABLE approvals
    ADD COLUMN deciders_needed integer NOT NULL DEFAULT 1 CHECK (deciders_needed BETWEEN 1 AND 2),
    -- What one of two deciders wants to run instead; the other has to allow exactly it.
    ADD COLUMN proposed_action text,
    ADD COLUMN proposed_hash text,
    ADD CONSTRAINT approvals_proposal_check CHECK ((proposed_action IS NULL) = (proposed_hash IS NULL) AND (proposed_action IS NULL OR deciders_needed = 2)),
    ADD CONSTRAINT approvals_two_check CHECK (deciders_needed = 1 OR (grant_id IS NULL AND cardinality(approvers) >= 2));
