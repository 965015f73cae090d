package wire

// Payloads of socket events (desktop 3.4–3.6). A flat Message is the payload of new_message.

// RecentMessages is pushed right after a conversation join, newest window, oldest first.
type RecentMessages struct {
	Messages []Message `json:"messages"`
	Seq      int64     `json:"seq"`
}

// MessageDeleted tells that a message is gone.
type MessageDeleted struct {
	MessageID      string `json:"messageId"`
	ConversationID string `json:"conversationId"`
	Seq            int64  `json:"seq"`
}

// MessageMetadataChanged replaces the whole metadata of a row.
type MessageMetadataChanged struct {
	MessageID      string `json:"messageId"`
	ConversationID string `json:"conversationId"`
	Metadata       Map    `json:"metadata"`
	Seq            int64  `json:"seq"`
}

// MessageStreaming is one frame of a turn in progress; content is cumulative.
type MessageStreaming struct {
	ConversationID string  `json:"conversationId"`
	StreamID       string  `json:"streamId"`
	SenderID       string  `json:"senderId"`
	SenderName     string  `json:"senderName"`
	Status         string  `json:"status"`
	Phase          string  `json:"phase,omitempty"`
	PhaseDetail    string  `json:"phaseDetail,omitempty"`
	Content        *string `json:"content,omitempty"`
}

// TypingIndicator tells who types; also the old snake_case names, so that older builds understand it.
type TypingIndicator struct {
	ConversationID  string `json:"conversationId"`
	ParticipantID   string `json:"participantId"`
	ParticipantName string `json:"participantName"`
	ParticipantType string `json:"participantType"`
	IsTyping        bool   `json:"isTyping"`
}

// PresenceSnapshot is pushed after each join of the own user topic.
type PresenceSnapshot struct {
	OnlineParticipantIDs []string                 `json:"onlineParticipantIds"`
	AgentPresences       map[string]string        `json:"agentPresences"`
	AgentActivities      map[string]AgentActivity `json:"agentActivities"`
	AgentDevices         map[string]AgentDevice   `json:"agentDevices"`
}

// AgentActivity is what an agent does now, and where.
type AgentActivity struct {
	Activity        string   `json:"activity"`
	ConversationIDs []string `json:"conversationIds,omitempty"`
}

// AgentDevice is where an agent runs.
type AgentDevice struct {
	Name     string  `json:"name"`
	Nickname *string `json:"nickname,omitempty"`
}

// AgentStatusChanged carries presence, and online for older builds.
type AgentStatusChanged struct {
	AgentID        string  `json:"agentId"`
	Presence       string  `json:"presence"` // online_local | offline
	Online         bool    `json:"online"`
	DeviceName     *string `json:"deviceName,omitempty"`
	DeviceNickname *string `json:"deviceNickname,omitempty"`
}

// AgentActivityChanged tells what an agent does; null is idle.
type AgentActivityChanged struct {
	AgentID         string   `json:"agentId"`
	Activity        *string  `json:"activity"`
	ConversationIDs []string `json:"conversationIds,omitempty"`
}

// HumanStatusChanged tells that a person came or went.
type HumanStatusChanged struct {
	ParticipantID string `json:"participantId"`
	Online        bool   `json:"online"`
}

// ConversationUpdated moves a row up and counts unread (desktop 3.8).
type ConversationUpdated struct {
	ConversationID       string  `json:"conversationId"`
	LastMessage          Message `json:"lastMessage"`
	NotificationCategory *string `json:"notificationCategory"`
}

// NewConversation carries the whole room.
type NewConversation struct {
	Conversation Conversation `json:"conversation"`
}

// ConversationRef names a room: conversation_read, conversation_deleted, removed_from_conversation, conversation_rename_resolved.
type ConversationRef struct {
	ConversationID string `json:"conversationId"`
	Seq            int64  `json:"seq,omitempty"`
}

// ConversationTitleChanged renames.
type ConversationTitleChanged struct {
	ConversationID string  `json:"conversationId"`
	Title          *string `json:"title"`
	Seq            int64   `json:"seq"`
}

// ConversationAvatarChanged tells a new picture; null clears it.
type ConversationAvatarChanged struct {
	ConversationID string  `json:"conversationId"`
	AvatarURL      *string `json:"avatarUrl"`
	Seq            int64   `json:"seq"`
}

// ConversationSettingsChanged is ours: what agents may do in the room.
type ConversationSettingsChanged struct {
	ConversationID         string `json:"conversationId"`
	AgentsAddWithoutAsking bool   `json:"agentsAddWithoutAsking"`
	Seq                    int64  `json:"seq"`
}

// ConversationMetadataChanged replaces the whole metadata.
type ConversationMetadataChanged struct {
	ConversationID string `json:"conversationId"`
	Metadata       Map    `json:"metadata"`
	Seq            int64  `json:"seq"`
}

// MemberChanged is member_added and member_removed.
type MemberChanged struct {
	ConversationID string             `json:"conversationId"`
	Member         ConversationMember `json:"member"`
	Seq            int64              `json:"seq"`
}

// SubConversation is sub_conversation_created, when a huddle below the room was opened
// or closed, and huddle_changed, which is ours: something has happened in it.
type SubConversation struct {
	ConversationID string `json:"conversationId"`
	HuddleID       string `json:"huddleId"`
	Seq            int64  `json:"seq,omitempty"`
}

// ActiveOrganizationChanged tells the person's other devices.
type ActiveOrganizationChanged struct {
	OrganizationID string `json:"organizationId"`
}

// ReceiptChanged is ours: what became of a message with one agent.
type ReceiptChanged struct {
	ConversationID string  `json:"conversationId"`
	Receipt        Receipt `json:"receipt"`
}

// MarkRead is the push mark_conversation_read; up_to is ours: what is newer stays
// unread (docs/protocol.md 5).
type MarkRead struct {
	UpTo string `json:"up_to"`
}
