package chat

import "encoding/json"

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
