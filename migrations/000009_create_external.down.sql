DROP TABLE inbox_items, agent_invites, external_sessions;
ALTER TABLE agents DROP COLUMN external_tool;
