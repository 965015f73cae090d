package wire

// SessionEvent is the body of POST /api/agents/me/sessions/events (bridge 8.2). EventID is ours: an event sent twice is shown once.
type SessionEvent struct {
	SessionID        string `json:"sessionId"`
	Event            string `json:"event"`
	Tool             string `json:"tool"`
	Hostname         string `json:"hostname"`
	Cwd              string `json:"cwd"`
	Branch           string `json:"branch"`
	Repo             string `json:"repo"`
	ToolName         string `json:"toolName"`
	Text             string `json:"text"`
	Channel          *bool  `json:"channel"`
	Model            string `json:"model"`
	Effort           string `json:"effort"`
	NotificationType string `json:"notificationType"`
	EventID          string `json:"eventId"`
}

// SessionStored answers it, 200 exactly.
type SessionStored struct {
	OK bool `json:"ok"`
}

// SessionStats counts what a session did.
type SessionStats struct {
	Prompts   int            `json:"prompts"`
	ToolCalls int            `json:"tool_calls"`
	Tools     map[string]int `json:"tools"`
}

// ExternalSession is the CLI session of an agent (desktop 5.4).
type ExternalSession struct {
	ID               string       `json:"id"`
	SessionKey       string       `json:"sessionKey"`
	Tool             string       `json:"tool"`
	State            string       `json:"state"`
	Cwd              string       `json:"cwd"`
	Repo             string       `json:"repo"`
	Branch           string       `json:"branch"`
	Hostname         string       `json:"hostname"`
	Stats            SessionStats `json:"stats"`
	StartedAt        Time         `json:"startedAt"`
	LastEventAt      Time         `json:"lastEventAt"`
	EndedAt          *Time        `json:"endedAt"`
	DMConversationID *string      `json:"dmConversationId"`
}

// SessionRoomCreate is the body of POST /api/conversations/session (desktop 4.4).
type SessionRoomCreate struct {
	AgentID    string  `json:"agentId"`
	Title      *string `json:"title"`
	SessionKey string  `json:"sessionKey"`
	Cwd        string  `json:"cwd"`
	Repo       string  `json:"repo"`
	Branch     string  `json:"branch"`
	Hostname   string  `json:"hostname"`
	Tool       string  `json:"tool"`
}

// SessionLink is the body of POST /api/conversations/:id/session/link.
type SessionLink struct {
	AgentID    string `json:"agentId"`
	SessionKey string `json:"sessionKey"`
	Cwd        string `json:"cwd"`
}

// SessionUnlinked answers DELETE /api/conversations/:id/session/link.
type SessionUnlinked struct {
	Unlinked int `json:"unlinked"`
}

// Inbox answers GET /api/agents/me/inbox (bridge 8.3).
type Inbox struct {
	Unread           []InboxRoom `json:"unread"`
	Tasks            []InboxTask `json:"tasks"`
	CommandsTypeable bool        `json:"commandsTypeable"`
}

// InboxRoom is a room with what is unread in it, newest first. Count is all that is unread, also what is not listed.
type InboxRoom struct {
	ConversationID string         `json:"conversationId"`
	Type           string         `json:"type"`
	Title          string         `json:"title"`
	Count          int            `json:"count"`
	OwnerDM        bool           `json:"ownerDm"`
	Messages       []InboxMessage `json:"messages"`
}

// InboxMessage is one of them. Command is what is to be typed into the session.
type InboxMessage struct {
	ID          string `json:"id"`
	SenderName  string `json:"senderName"`
	SenderType  string `json:"senderType"`
	Content     string `json:"content"`
	ContentType string `json:"contentType"`
	InsertedAt  Time   `json:"insertedAt"`
	Command     string `json:"command,omitempty"`
}

// InboxTask is an open task of the agent.
type InboxTask struct {
	ID             string `json:"id"`
	Title          string `json:"title"`
	Status         string `json:"status"`
	ConversationID string `json:"conversationId"`
}

// InboxAck is the body of POST /api/agents/me/inbox/ack.
type InboxAck struct {
	MessageIDs []string `json:"messageIds"`
}

// InboxAcked answers it.
type InboxAcked struct {
	Acked int `json:"acked"`
}

// InviteCreate is the body of POST /api/invites (desktop 4.13); capabilities and maxUses are ours.
type InviteCreate struct {
	DisplayName  string   `json:"displayName"`
	Description  string   `json:"description"`
	Capabilities []string `json:"capabilities"`
	TTLHours     int      `json:"ttlHours"`
	AgentID      string   `json:"agentId"`
	MaxUses      int      `json:"maxUses"`
}

// Invite is an invite as its creator sees it. Code is there once, in the answer that made it.
type Invite struct {
	ID           string   `json:"id"`
	Code         string   `json:"code,omitempty"`
	DisplayName  string   `json:"displayName"`
	Description  string   `json:"description"`
	Capabilities []string `json:"capabilities"`
	AgentID      *string  `json:"agentId"`
	Status       string   `json:"status"`
	MaxUses      int      `json:"maxUses"`
	Uses         int      `json:"uses"`
	ExpiresAt    Time     `json:"expiresAt"`
	InsertedAt   Time     `json:"insertedAt"`
	LastUsedAt   *Time    `json:"lastUsedAt"`
}

// Invites answers GET /api/invites (ours).
type Invites struct {
	Invites []Invite `json:"invites"`
}

// InviteInfo answers GET /api/invites/:code/info, to anybody who has the code (bridge 1.5, desktop 4.13).
type InviteInfo struct {
	DisplayName  string        `json:"displayName"`
	Description  string        `json:"description"`
	Capabilities []string      `json:"capabilities"`
	Status       string        `json:"status"`
	CreatorName  string        `json:"creatorName"`
	Creator      InviteCreator `json:"creator"`
	ExpiresAt    Time          `json:"expiresAt"`
	MaxUses      int           `json:"maxUses"`
	Uses         int           `json:"uses"`
}

// InviteCreator is who made it.
type InviteCreator struct {
	DisplayName string `json:"displayName"`
}

// InviteClaim is the body of POST /api/invites/:code/claim; all of it is optional, and so is the body (bridge 1.5).
type InviteClaim struct {
	ExecutorKey          string   `json:"executorKey"`
	ExecutorDisplayName  string   `json:"executorDisplayName"`
	ExecutorCapabilities []string `json:"executorCapabilities"`
	Runtime              string   `json:"runtime"`
	ExternalTool         string   `json:"externalTool"`
}

// InviteClaimed answers it, 201 exactly.
type InviteClaimed struct {
	AgentID    string           `json:"agentId"`
	APIKey     string           `json:"apiKey"`
	Agent      Agent            `json:"agent"`
	GatewayURL string           `json:"gatewayUrl"`
	Executor   *ClaimedExecutor `json:"executor,omitempty"`
}

// ClaimedExecutor is the executor that was registered with the claim.
type ClaimedExecutor struct {
	ID string `json:"id"`
}

// ExternalDisabled is the body of 404 where external agents are off (decision 25).
type ExternalDisabled struct {
	Error string `json:"error"`
}
