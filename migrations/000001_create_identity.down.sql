ALTER TABLE accounts DROP CONSTRAINT accounts_active_organization_fk;
DROP TABLE agents, memberships, organizations, llm_keys, one_time_codes, sessions, identities, accounts, participants;
