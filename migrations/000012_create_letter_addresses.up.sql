-- Owner: agent (agent_letter_addresses).

-- Where an agent can be written to with encrypted letters: public keys that its bridge reported. The private ones never leave the bridge.
-- An address that was replaced or taken away keeps its row, so that people see that it changed, and when.
CREATE TABLE agent_letter_addresses (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent_id     uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    fingerprint  text NOT NULL CHECK (fingerprint ~ '^[0-9a-f]{32}$'),
    identity_key text NOT NULL CHECK (char_length(identity_key) = 43),
    signing_key  text NOT NULL CHECK (char_length(signing_key) = 43),
    relay_url    text NOT NULL CHECK (char_length(relay_url) BETWEEN 8 AND 2048),
    since        timestamptz(6) NOT NULL DEFAULT now(),
    until        timestamptz(6),
    CHECK (until IS NULL OR until >= since)
);
COMMENT ON TABLE agent_letter_addresses IS 'owner: agent';
ALTER TABLE agent_letter_addresses ENABLE ROW LEVEL SECURITY;
CREATE INDEX agent_letter_addresses_agent_idx ON agent_letter_addresses (agent_id, until DESC NULLS FIRST, id DESC);
-- One is in force.
CREATE UNIQUE INDEX agent_letter_addresses_live_key ON agent_letter_addresses (agent_id) WHERE until IS NULL;
