package wire

// Conversation is a room (desktop 5.1, bridge 4.2). `seq` is ours (docs/protocol.md 5).
type Conversation struct {
	ID                     string               `json:"id"`
	Type                   string               `json:"type"`
	Title                  *string              `json:"title"`
	AvatarURL              *string              `json:"avatarUrl"`
	CreatedBy              *string              `json:"createdBy"`
	Metadata               Map                  `json:"metadata"`
	InsertedAt             Time                 `json:"insertedAt"`
	UpdatedAt              Time                 `json:"updatedAt"`
	LastMessage            *Message             `json:"lastMessage"`
	Members                []ConversationMember `json:"members"`
	Pinned                 bool                 `json:"pinned"`
	ParentConversationID   *string              `json:"parentConversationId"`
	OrganizationID         *string              `json:"organizationId"`
	AgentsAddWithoutAsking bool                 `json:"agentsAddWithoutAsking"`
	UnreadCount            int                  `json:"unreadCount"`
	MentionCount           int                  `json:"mentionCount"`
	LastReadSeq            int64                `json:"lastReadSeq"` // ours: the caller's read mark, a messageSeq
	Seq                    int64                `json:"seq"`
	Huddle                 *Huddle              `json:"huddle,omitempty"` // ours: of a side conversation
}

// Huddle is what a side conversation says of itself (docs/protocol.md 14).
type Huddle struct {
	Status          string  `json:"status"` // open | resolved | abandoned
	Topic           string  `json:"topic"`
	Goal            string  `json:"goal"`
	Outcome         string  `json:"outcome"` // resolved | agreed | blocked | deferred | abandoned; "" while it is open
	Summary         string  `json:"summary"`
	SourceMessageID *string `json:"sourceMessageId"`
	ReportMessageID *string `json:"reportMessageId"`
	ClosedBy        *string `json:"closedBy"`
	ClosedAt        *Time   `json:"closedAt"`
	MessageCount    int     `json:"messageCount"`
}

// HuddleOpen is the body of POST /api/conversations/dm (bridge 3.3), with the older
// names of topic and goal. Without a source it is the direct room of two.
type HuddleOpen struct {
	PeerID               string   `json:"peerId"`
	PeerIDs              []string `json:"peerIds"`
	SourceConversationID string   `json:"sourceConversationId"`
	SourceMessageID      string   `json:"sourceMessageId"`
	HuddleTopic          string   `json:"huddleTopic"`
	HuddleGoal           string   `json:"huddleGoal"`
	ThreadTopic          string   `json:"threadTopic"`
	ThreadGoal           string   `json:"threadGoal"`
	Message              string   `json:"message"`
	OpenedByTaskID       string   `json:"openedByTaskId"`
}

// HuddleComplete is the body of POST /api/huddles/complete, and of its older name.
type HuddleComplete struct {
	HuddleID string `json:"huddleId"`
	ThreadID string `json:"threadId"`
	Summary  string `json:"summary"`
	Outcome  string `json:"outcome"`
	Content  string `json:"content"`
}

// HuddleCompleted is its answer. messageId is the report in the room above.
type HuddleCompleted struct {
	HuddleID       string  `json:"huddleId"`
	ConversationID string  `json:"conversationId"`
	Status         string  `json:"status"`
	Outcome        string  `json:"outcome"`
	MessageID      *string `json:"messageId"`
}

// HuddleGoal is the body of POST /api/huddles/goal, and of its older name.
type HuddleGoal struct {
	HuddleID string `json:"huddleId"`
	ThreadID string `json:"threadId"`
	Goal     string `json:"goal"`
}

// HuddleGoalSet is its answer.
type HuddleGoalSet struct {
	HuddleID string `json:"huddleId"`
	Goal     string `json:"goal"`
}

// ConversationMember is a participant's place in a room. displayName stands at the top level too, as the bridge reads it there.
type ConversationMember struct {
	ParticipantID string      `json:"participantId"`
	DisplayName   string      `json:"displayName"`
	Role          string      `json:"role"`
	Participant   Participant `json:"participant"`
}

// Conversations lists rooms.
type Conversations struct {
	Conversations []Conversation `json:"conversations"`
}

// ConversationCreate is the body of POST /api/conversations.
type ConversationCreate struct {
	Type      string   `json:"type"`
	Title     *string  `json:"title"`
	MemberIDs []string `json:"memberIds"`
	Metadata  Map      `json:"metadata,omitempty"`
}

// MemberAdd is the body of POST /api/conversations/:id/members.
type MemberAdd struct {
	ParticipantID string `json:"participantId"`
}

// UnreadCounts answers GET /api/unread-counts.
type UnreadCounts struct {
	UnreadCounts map[string]int `json:"unreadCounts"`
}

// StopAgentsRequest is the body of POST /api/conversations/:id/stop-agents; agentId is ours and stops one agent only.
type StopAgentsRequest struct {
	LastMessageID *string `json:"lastMessageId"`
	AgentID       *string `json:"agentId"`
}

// StopAgents is its answer. stale: a newer human message exists, nothing was stopped.
type StopAgents struct {
	Stopped int  `json:"stopped"`
	Stale   bool `json:"stale,omitempty"`
}

// Change is one persisted change of a room (docs/protocol.md 5).
type Change struct {
	Seq     int64  `json:"seq"`
	Event   string `json:"event"`
	Payload any    `json:"payload"`
}

// Changes answers GET /api/conversations/:id/changes.
type Changes struct {
	Changes []Change `json:"changes"`
	Seq     int64    `json:"seq"`
	Reset   bool     `json:"reset"`
}
