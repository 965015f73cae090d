DROP TABLE directive_parts, cli_tool_uses, runtime_faults, usage_records, turns, queued_messages, executors;
