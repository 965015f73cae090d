package wire

// Message is one row of a timeline (desktop 5.2, bridge 4.1). messageSeq is ours.
type Message struct {
	ID                   string        `json:"id"`
	ConversationID       string        `json:"conversationId"`
	SenderID             *string       `json:"senderId"`
	SenderName           string        `json:"senderName"`
	SenderType           string        `json:"senderType,omitempty"` // human | agent; absent on lines of the server
	Sender               *Sender       `json:"sender"`
	Content              string        `json:"content"`
	ReadableText         string        `json:"readableText,omitempty"`
	ContentType          string        `json:"contentType"`
	MessageType          *string       `json:"messageType"`
	ContentStructured    Map           `json:"contentStructured"`
	Metadata             Map           `json:"metadata"`
	ParentMessageID      *string       `json:"parentMessageId"`
	CorrelationID        *string       `json:"correlationId,omitempty"`
	TurnGroupID          *string       `json:"turnGroupId,omitempty"`
	TaskSnapshot         *TaskSnapshot `json:"taskSnapshot,omitempty"` // of a card
	FileAttachments      []Attachment  `json:"fileAttachments"`
	Reactions            []Reaction    `json:"reactions"`
	InsertedAt           Time          `json:"insertedAt"`
	UpdatedAt            Time          `json:"updatedAt"`
	NotificationCategory *string       `json:"notificationCategory,omitempty"` // only in conversation_updated.lastMessage
	MessageSeq           int64         `json:"messageSeq"`
	Seq                  int64         `json:"seq,omitempty"` // event sequence, set on channel events
}

// Attachment is a file of a message.
type Attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	SizeBytes   int64  `json:"sizeBytes"`
	DownloadURL string `json:"downloadUrl,omitempty"`
	PreviewURL  string `json:"previewUrl,omitempty"`
	Deleted     bool   `json:"deleted,omitempty"` // ours: its bytes are gone (docs/protocol.md 13)
}

// Reaction is one emoji and who chose it, in order of first appearance.
type Reaction struct {
	Emoji          string   `json:"emoji"`
	ParticipantIDs []string `json:"participantIds"`
}

// Messages answers GET /api/conversations/:id/messages, newest first.
type Messages struct {
	Messages []Message `json:"messages"`
}

// MessagePost is the body of POST /api/conversations/:id/messages (bridge 3.3).
type MessagePost struct {
	Content           string  `json:"content"`
	ContentType       string  `json:"contentType"`
	MessageType       *string `json:"messageType"`
	ContentStructured Map     `json:"contentStructured"`
	Metadata          Map     `json:"metadata"`
	CorrelationID     *string `json:"correlationId"`
	ParentMessageID   *string `json:"parentMessageId"`
	LastSeenMessageID *string `json:"lastSeenMessageId"`
	// Attachments is ours on REST: uploads of the writer to this room.
	Attachments []PushAttachment `json:"attachments,omitempty"`
}

// MessagePush is the socket push new_message (desktop 3.3, bridge 2.5): snake_case but for attachments.
type MessagePush struct {
	Content           string           `json:"content"`
	ContentType       string           `json:"content_type"`
	MessageType       *string          `json:"message_type"`
	ContentStructured Map              `json:"content_structured"`
	Metadata          Map              `json:"metadata"`
	CorrelationID     *string          `json:"correlation_id"`
	ParentMessageID   *string          `json:"parent_message_id"`
	Attachments       []PushAttachment `json:"attachments"`
	ThreadRootID      *string          `json:"thread_root_id"`
	AlsoInMain        bool             `json:"also_in_main"`
}

// PushAttachment is a file named in a push.
type PushAttachment struct {
	StorageKey  string `json:"storageKey"`
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	SizeBytes   int64  `json:"sizeBytes"`
}

// Stale is the body of a 409: the draft is outdated, nothing was stored (bridge 3.1). It carries no error key.
type Stale struct {
	Stale       bool      `json:"stale"`
	NewMessages []Message `json:"newMessages"`
}

// StreamPost is the body of POST /api/conversations/:id/stream (bridge 3.3); queue_id and generation are ours.
type StreamPost struct {
	StreamID    string  `json:"stream_id"`
	Status      string  `json:"status"`
	Content     *string `json:"content"`
	Phase       string  `json:"phase"`
	PhaseDetail string  `json:"phase_detail"`
	QueueID     *string `json:"queue_id"`
	Generation  *int64  `json:"generation"`
}

// Receipt is what became of a message with one agent (docs/protocol.md 6).
type Receipt struct {
	MessageID  string  `json:"messageId"`
	AgentID    string  `json:"agentId"`
	AgentName  string  `json:"agentName"`
	State      string  `json:"state"`
	ErrorCode  *string `json:"errorCode"`
	AnswerID   *string `json:"answerId"`
	MergedInto *string `json:"mergedInto"`
	At         Time    `json:"at"`
}

// Receipts answers GET /api/conversations/:id/receipts.
type Receipts struct {
	Receipts []Receipt `json:"receipts"`
}

// PushError is the response of an error reply on the socket: reason is the stable code.
type PushError struct {
	Reason  string       `json:"reason"`
	Code    string       `json:"code"`
	Message string       `json:"message"`
	Details []FieldError `json:"details,omitempty"`
}

// MessageRef is the push delete_message.
type MessageRef struct {
	MessageID string `json:"message_id"`
}

// Suppressed answers a post that is not stored because the turn had ended silently.
type Suppressed struct {
	Suppressed bool `json:"suppressed"`
}

// WriterNotice is ours, on the user topic: something about a message did not work (docs/protocol.md 8).
type WriterNotice struct {
	ConversationID string         `json:"conversationId"`
	MessageID      string         `json:"messageId"`
	Code           string         `json:"code"`
	Params         map[string]any `json:"params"`
	Text           string         `json:"text"`
}

// UserJoin is the params of a join of the own user topic (desktop 3.2, bridge 2.4).
type UserJoin struct {
	Client        string `json:"client"`
	DeviceName    string `json:"device_name"`
	ExecutorID    string `json:"executor_id"`
	BridgeVersion string `json:"bridge_version"`
}
