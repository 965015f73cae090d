DROP TABLE credential_requests, queued_approvals, approval_grants, approvals;
