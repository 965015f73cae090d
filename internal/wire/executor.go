package wire

// ExecutorJoin is what a bridge says when it joins its agent's topic (bridge 2.4);
// instance_id is ours and lets the server refuse a process that was replaced.
type ExecutorJoin struct {
	ExecutorID    string `json:"executor_id"`
	BridgeVersion string `json:"bridge_version"`
	InstanceID    string `json:"instance_id"`
}

// Woken answers POST /api/agents/:id/wake.
type Woken struct {
	Woken  bool   `json:"woken"`
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// AgentStopped answers POST /api/agents/:id/stop.
type AgentStopped struct {
	Stopped bool   `json:"stopped"`
	Status  string `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// HealthReset answers POST /api/agents/:id/health/reset (desktop 4.11).
type HealthReset struct {
	Message           string `json:"message"`
	DisabledExecutors int    `json:"disabledExecutors"`
	UnclaimedTasks    int    `json:"unclaimedTasks"`
	UnclaimedMessages int    `json:"unclaimedMessages"`
}

// HealthCleared answers …/clear-messages and …/clear-tasks.
type HealthCleared struct {
	Message   string `json:"message"`
	Expired   int    `json:"expired"`
	Unclaimed int    `json:"unclaimed"`
}

// HealthUnstuck answers …/unstick.
type HealthUnstuck struct {
	Message          string `json:"message"`
	ExecutorsReset   int    `json:"executorsReset"`
	TasksExpired     int    `json:"tasksExpired"`
	MessagesRequeued int    `json:"messagesRequeued"`
}
