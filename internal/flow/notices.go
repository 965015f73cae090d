package flow

import (
	"fmt"

	"github.com/agntchat/agntchat/internal/fault"
)

// noticeType is the message type of the server's own lines.
const noticeType = "Notice"

// The codes of notices (decision 24); the web client has each in its catalogue.
const (
	NoticeStreak     = "agent_streak_limit"   // params: limit
	NoticeMayNotAdd  = "mention_may_not_add"  // params: names; to the writer alone
	NoticeHuddle     = "huddle_report"        // params: name, topic, status, summary, huddle_id
	NoticeBudget     = "budget_stopped"       // params: agent, agent_id
	NoticeNotResumed = "approval_not_resumed" // params: agent, agent_id, tool
)

// noticeText is the English text of a notice.
func noticeText(n Notice) (string, error) {
	switch n.Code {
	case NoticeStreak:
		return fmt.Sprintf("Agents have written %v messages in a row. They pause until a person writes.", n.Params["limit"]), nil
	case NoticeMayNotAdd:
		return fmt.Sprintf("%v is not in this room, and you may not add members. The mention stays plain text.", n.Params["names"]), nil
	case NoticeHuddle:
		return fmt.Sprintf("%v closed the huddle: %v", n.Params["name"], n.Params["summary"]), nil
	case NoticeBudget:
		return fmt.Sprintf("%v has used up its tokens for today. It goes on when its owner says so, or tomorrow.", n.Params["agent"]), nil
	case NoticeNotResumed:
		return fmt.Sprintf("%v could not go on after the answer about %v. Ask again if it is still needed.", n.Params["agent"], n.Params["tool"]), nil
	}
	if text, ok := n.Params["text"].(string); ok && n.Code != "" {
		return text, nil
	}
	return "", fault.Newf(fault.Internal, "unknown_notice", "There is no text for the notice %q.", n.Code)
}
