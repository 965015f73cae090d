-- Owner: chat (messages.attachments), file (files).

-- What a message remembers of the files that it shows: [{id, filename, contentType, sizeBytes, deleted?}].
ALTER TABLE messages ADD COLUMN attachments jsonb;
UPDATE messages m SET attachments = jsonb_build_array(jsonb_build_object('id', f.id, 'filename', f.filename, 'contentType', f.content_type, 'sizeBytes', f.size_bytes))
    FROM files f WHERE f.message_id = m.id AND m.deleted_at IS NULL;

-- A message may show several files.
ALTER TABLE files DROP CONSTRAINT files_message_id_key;
CREATE INDEX files_message_idx ON files (message_id) WHERE message_id IS NOT NULL;
-- How much a workspace keeps.
CREATE INDEX files_organization_idx ON files (organization_id) INCLUDE (size_bytes);
