DROP TABLE member_requests, budget_stops, agent_budgets;
