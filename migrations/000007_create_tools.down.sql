DROP TABLE tool_calls, agent_tools;
