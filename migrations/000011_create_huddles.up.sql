-- Owner: chat.

-- An open huddle is named below its room by who was called and about what; a closed one has no name, so that the same can be
-- talked about anew (ADR 20). Its state is in conversations.metadata, as clients read it.
ALTER TABLE conversations ADD COLUMN huddle_key text;
CREATE UNIQUE INDEX conversations_huddle_key ON conversations (parent_conversation_id, huddle_key) WHERE huddle_key IS NOT NULL AND deleted_at IS NULL;
