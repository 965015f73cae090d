DROP TABLE agent_souls, family_memories, agent_memories, conversation_memory_changes, conversation_memories;
