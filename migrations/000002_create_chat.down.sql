DROP TABLE conversation_changes, messages, conversation_members, conversations;
