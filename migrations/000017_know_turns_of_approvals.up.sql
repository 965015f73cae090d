-- Owner: approval (approvals).
-- The delivery whose run asked: the queue row and its claim. A later claim of the same row is another run, and whoever asked in an earlier one is gone.
ALTER TABLE approvals ADD COLUMN turn_queue_id uuid, ADD COLUMN turn_generation bigint,
    ADD CONSTRAINT approvals_turn_check CHECK ((turn_queue_id IS NULL) = (turn_generation IS NULL));
CREATE INDEX approvals_turn_idx ON approvals (turn_queue_id) WHERE turn_queue_id IS NOT NULL;
