DROP INDEX files_organization_idx, files_message_idx;
-- One file a message, as before: what else a message showed is forgotten.
DELETE FROM files f USING files g WHERE f.message_id = g.message_id AND f.id > g.id;
ALTER TABLE files ADD CONSTRAINT files_message_id_key UNIQUE (message_id);
ALTER TABLE messages DROP COLUMN attachments;
