ALTER TABLE inbox_items DROP COLUMN close_reason;
