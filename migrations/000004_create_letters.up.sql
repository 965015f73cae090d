-- Owner: letter. The relay of encrypted letters: public keys, and ciphertext until it is collected.

-- An address that has published its keys. address is a hash of both keys.
CREATE TABLE letter_mailboxes (
    address         text PRIMARY KEY CHECK (address ~ '^[0-9a-f]{32}$'),
    identity_key    text NOT NULL,
    signing_key     text NOT NULL,
    fallback_key_id text,
    fallback_key    text,
    -- The last day on which its owner called: a mailbox that nobody uses any more is forgotten.
    seen_on         date NOT NULL,
    CHECK ((fallback_key_id IS NULL) = (fallback_key IS NULL))
);
COMMENT ON TABLE letter_mailboxes IS 'owner: letter';
ALTER TABLE letter_mailboxes ENABLE ROW LEVEL SECURITY;
CREATE INDEX letter_mailboxes_seen_idx ON letter_mailboxes (seen_on);

-- A claimed key stays for some weeks without a reader, so that publishing it again does not give it out again.
CREATE TABLE letter_one_time_keys (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner      text NOT NULL REFERENCES letter_mailboxes (address) ON DELETE CASCADE,
    key_id     text NOT NULL,
    key        text NOT NULL,
    claimed_at timestamptz(6),
    UNIQUE (owner, key)
);
COMMENT ON TABLE letter_one_time_keys IS 'owner: letter';
ALTER TABLE letter_one_time_keys ENABLE ROW LEVEL SECURITY;
CREATE INDEX letter_one_time_keys_open_idx ON letter_one_time_keys (owner, id) WHERE claimed_at IS NULL;
CREATE INDEX letter_one_time_keys_claimed_idx ON letter_one_time_keys (claimed_at) WHERE claimed_at IS NOT NULL;

-- Letters that wait. sent_at is in Unix seconds because that is what clients are told, to the last digit. The lease stands in no
-- index, so that a hand-out is a HOT update. There is no foreign key: a letter must not lock the row of its mailbox.
CREATE TABLE letters (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sent_at     double precision NOT NULL,
    sender      text NOT NULL,
    recipient   text NOT NULL,
    mtype       bigint NOT NULL,
    hash        bytea NOT NULL CHECK (octet_length(hash) = 32),
    body        bytea NOT NULL,
    lease       uuid,
    lease_until timestamptz(6),
    UNIQUE (recipient, sender, hash)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE letters ALTER COLUMN body SET STORAGE EXTERNAL; -- ciphertext does not compress
COMMENT ON TABLE letters IS 'owner: letter';
ALTER TABLE letters ENABLE ROW LEVEL SECURITY;
CREATE INDEX letters_recipient_idx ON letters (recipient, id);
CREATE INDEX letters_sent_idx ON letters (sent_at);

-- SHA-256 of every nonce of the last minutes. It does not say whose it was.
CREATE TABLE letter_nonces (
    nonce   bytea PRIMARY KEY CHECK (octet_length(nonce) = 32),
    seen_at timestamptz(6) NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE letter_nonces IS 'owner: letter';
ALTER TABLE letter_nonces ENABLE ROW LEVEL SECURITY;
CREATE INDEX letter_nonces_seen_idx ON letter_nonces (seen_at);

-- Signed refusals: hash names a ciphertext that recipient does not take. It does not say who sent it.
CREATE TABLE letter_refusals (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recipient  text NOT NULL,
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    sig        text NOT NULL,
    refused_at timestamptz(6) NOT NULL,
    UNIQUE (recipient, hash)
);
COMMENT ON TABLE letter_refusals IS 'owner: letter';
ALTER TABLE letter_refusals ENABLE ROW LEVEL SECURITY;
CREATE INDEX letter_refusals_recipient_idx ON letter_refusals (recipient, id);
CREATE INDEX letter_refusals_age_idx ON letter_refusals (refused_at);

-- Who may use a closed relay: hex SHA-256 of the key. created is in Unix seconds, as clients are told.
CREATE TABLE letter_api_keys (
    key_hash text PRIMARY KEY,
    label    text NOT NULL,
    created  double precision NOT NULL,
    disabled boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE letter_api_keys IS 'owner: letter';
ALTER TABLE letter_api_keys ENABLE ROW LEVEL SECURITY;
