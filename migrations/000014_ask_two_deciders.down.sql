ALTER TABLE approvals DROP CONSTRAINT approvals_two_check, DROP CONSTRAINT approvals_proposal_check, DROP COLUMN proposed_hash, DROP COLUMN proposed_action, DROP COLUMN deciders_needed;
DROP TABLE approval_votes, approval_rules;
