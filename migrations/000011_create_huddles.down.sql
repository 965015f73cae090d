ALTER TABLE conversations DROP COLUMN huddle_key;
