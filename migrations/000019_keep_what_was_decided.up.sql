-- Owner: approval (member_requests, approvals), turn (budget_stops).

-- What people decided about members is listed by person; so are the yeses from which standing permissions came.
CREATE INDEX member_requests_history_idx ON member_requests USING gin (approvers) WHERE status <> 'pending';
CREATE INDEX approvals_grant_idx ON approvals (grant_id) WHERE grant_id IS NOT NULL AND decided_by IS NOT NULL;

-- What came of a stop: the limit to which it was raised (unknown of older ones), or that it was taken away.
ALTER TABLE budget_stops ADD COLUMN raised_to bigint CHECK (raised_to IS NULL OR (raised_to > 0 AND status = 'raised'));
ALTER TABLE budget_stops DROP CONSTRAINT budget_stops_status_check;
ALTER TABLE budget_stops ADD CONSTRAINT budget_stops_status_check CHECK (status IN ('pending', 'continued', 'raised', 'lifted', 'kept'));
