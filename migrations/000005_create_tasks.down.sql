DROP TABLE scope_requests, agent_queries, asks, queued_tasks, task_events, task_steps, task_assignees, tasks;
