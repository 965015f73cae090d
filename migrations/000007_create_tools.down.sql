DROP TABLE connection_agents, connection_operations, connections, tool_calls, agent_tools;
