UPDATE budget_stops SET status = 'continued' WHERE status = 'lifted';
ALTER TABLE budget_stops DROP CONSTRAINT budget_stops_status_check;
ALTER TABLE budget_stops ADD CONSTRAINT budget_stops_status_check CHECK (status IN ('pending', 'continued', 'raised', 'kept'));
ALTER TABLE budget_stops DROP COLUMN raised_to;
DROP INDEX approvals_grant_idx;
DROP INDEX member_requests_history_idx;
