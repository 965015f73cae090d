-- Owner: external (inbox_items).
-- Why an item waits no longer though nobody read it: read_at says since when.
ALTER TABLE inbox_items ADD COLUMN close_reason text CHECK (close_reason IS NULL OR read_at IS NOT NULL);
COMMENT ON COLUMN inbox_items.close_reason IS 'room_closed: the huddle was closed; left_room: the agent sits there no longer. NULL: waiting, or read at read_at.';
UPDATE inbox_items i SET read_at = now(), close_reason = 'room_closed' FROM conversations c
WHERE c.id = i.conversation_id AND i.read_at IS NULL
  AND (c.metadata ->> 'huddle_status' IN ('resolved', 'abandoned') OR c.metadata ->> 'thread_status' IN ('resolved', 'abandoned'));
