-- Owner: file (files).

-- A file of a room. Its bytes are in the data folder under the id.
-- waiting: an upload was allowed; stored: its bytes are here; kept: a message shows it.
CREATE TABLE files (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations (id),
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    message_id      uuid UNIQUE,
    uploaded_by     uuid NOT NULL REFERENCES participants (id),
    filename        text NOT NULL CHECK (length(filename) BETWEEN 1 AND 255),
    content_type    text NOT NULL CHECK (length(content_type) BETWEEN 1 AND 200),
    size_bytes      bigint NOT NULL CHECK (size_bytes BETWEEN 1 AND 26214400),
    sha256          bytea,
    state           text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'stored', 'kept')),
    inserted_at     timestamptz(6) NOT NULL DEFAULT now(),
    CHECK ((state = 'waiting') = (sha256 IS NULL)),
    CHECK ((state = 'kept') = (message_id IS NOT NULL))
);
COMMENT ON TABLE files IS 'owner: file';
ALTER TABLE files ENABLE ROW LEVEL SECURITY;
CREATE INDEX files_room_idx ON files (conversation_id, inserted_at DESC) WHERE state = 'kept';
CREATE INDEX files_uploader_idx ON files (uploaded_by, inserted_at DESC);
CREATE INDEX files_unkept_idx ON files (inserted_at) WHERE state <> 'kept';

-- What is to be deleted from the data folder: a row is written in the transaction
-- that forgets a file, and removed when its bytes are gone.
CREATE TABLE file_leftovers (
    id          uuid PRIMARY KEY,
    inserted_at timestamptz(6) NOT NULL DEFAULT now()
);
COMMENT ON TABLE file_leftovers IS 'owner: file';
ALTER TABLE file_leftovers ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION files_leave_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO file_leftovers (id) VALUES (OLD.id) ON CONFLICT (id) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER files_leave_bytes AFTER DELETE ON files FOR EACH ROW EXECUTE FUNCTION files_leave_bytes();
