package chat

import (
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/id"
)

// roomStatus is what this package reads of a room's metadata: both spellings of
// a side conversation's state.
type roomStatus struct {
	HuddleStatus string `json:"huddle_status"`
	ThreadStatus string `json:"thread_status"`
}

func closedStatus(meta json.RawMessage) bool {
	if len(meta) <= 2 {
		return false
	}
	var s roomStatus
	if json.Unmarshal(meta, &s) != nil {
		return false
	}
	return closedWord(s.HuddleStatus) || closedWord(s.ThreadStatus)
}

func closedWord(s string) bool { return s == "resolved" || s == "abandoned" }

// sessionOf is what this package reads of a session room's metadata.
type sessionOf struct {
	Session struct {
		AgentID string `json:"agent_id"`
	} `json:"session"`
}

// Attachment is what a message remembers of a file that it shows, so that a page of
// messages reads one table. Deleted: its bytes are gone, the message stays.
type Attachment struct {
	ID          id.File `json:"id"`
	Filename    string  `json:"filename"`
	ContentType string  `json:"contentType"`
	SizeBytes   int64   `json:"sizeBytes"`
	Deleted     bool    `json:"deleted,omitempty"`
}

// Huddle is what a side conversation keeps in its room's metadata, beside the older
// spellings of the same keys.
type Huddle struct {
	Huddle          bool            `json:"huddle"`
	Status          string          `json:"huddle_status"`
	Topic           string          `json:"huddle_topic,omitempty"`
	Goal            string          `json:"huddle_goal,omitempty"`
	Outcome         string          `json:"huddle_outcome,omitempty"` // resolved | agreed | blocked | deferred | abandoned
	Summary         string          `json:"huddle_summary,omitempty"`
	ClosedBy        *id.Participant `json:"huddle_closed_by,omitempty"`
	ClosedAt        *time.Time      `json:"huddle_closed_at,omitempty"`
	ReportMessageID *id.Message     `json:"huddle_report_message_id,omitempty"` // of the room above
	SourceRoomID    id.Conversation `json:"source_conversation_id"`
	SourceMessageID *id.Message     `json:"source_message_id,omitempty"`
	OpenedByTaskID  *id.Task        `json:"opened_by_task_id,omitempty"`
}
