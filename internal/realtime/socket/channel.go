package socket

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Session is who is at the other end, as the Authenticator found.
type Session struct {
	Participant string // participant id as on the wire; the bus filters by it
	Value       any    // whatever the channels want to know, for example an access.Actor
}

// Authenticator decides about an upgrade; the token is in the query parameter
// token. An error refuses the upgrade with 403; its text is not sent. An error
// that wraps ErrUnavailable refuses with 503 instead, so that a client does not
// take an outage for a bad token. It is asked once: a token that expires later
// never drops a live socket.
type Authenticator func(ctx context.Context, r *http.Request) (Session, error)

// Router makes the channel for a topic that a client wants to join, or answers
// false for a topic that does not exist. It must be cheap and must not block:
// it runs in the reader of the connection.
type Router func(topic string) (Channel, bool)

// Channel handles one topic of one connection; the Router makes a new one for
// each join. Its methods are never called concurrently. They run with a context
// that ends with the server's drain or after Limits.HandlerTimeout, not with the
// connection: what a client has sent is carried out even if it is gone.
type Channel interface {
	// Join authorises and subscribes. The reply becomes the response of the
	// join ("ok"); nil becomes {}. On an error the client gets the reply of
	// Config.ErrorReply, the channel is thrown away and Leave is not called.
	Join(ctx context.Context, m *Member, params json.RawMessage) (reply any, err error)
	// Push handles one event of the client. ErrNoReply answers nothing,
	// ErrUnknownEvent answers an error as Phoenix would.
	Push(ctx context.Context, m *Member, event string, payload json.RawMessage) (reply any, err error)
	// Leave is called exactly once after a Join that succeeded, after all pushes.
	Leave(ctx context.Context, m *Member, reason LeaveReason)
}

// Joined is implemented by channels that push something right after the reply to
// a join. Broadcasts of the topic are held back until it returns and then follow
// in order, so a snapshot read in here misses nothing: an event may be in both.
type Joined interface {
	Joined(ctx context.Context, m *Member)
}

// LeaveReason says why a membership ended.
type LeaveReason string

// The reasons.
const (
	LeftByClient     LeaveReason = "left"         // phx_leave
	LeftReplaced     LeaveReason = "replaced"     // the same connection joined the topic again
	LeftDisconnected LeaveReason = "disconnected" // the connection ended
	LeftRemoved      LeaveReason = "removed"      // Member.Close or Member.Fail
	LeftCrashed      LeaveReason = "crashed"      // a handler panicked
)

// Errors for handlers and callers.
var (
	// ErrNoReply is returned by Push for events that take no reply.
	ErrNoReply = errors.New("socket: no reply")
	// ErrUnknownEvent is returned by Push for events it does not know.
	ErrUnknownEvent = errors.New("socket: unmatched event")
	// ErrUnavailable is wrapped by an Authenticator that could not find out.
	ErrUnavailable = errors.New("socket: unavailable")
	// ErrClosed is returned by pushes to a connection or topic that is gone.
	ErrClosed = errors.New("socket: closed")
)

// ReplyError is an error whose Response is sent to the client as it is when
// Config.ErrorReply is not set.
type ReplyError struct{ Response any }

// Error names no details: the response is for the client, not for logs.
func (*ReplyError) Error() string { return "socket: refused" }

// Reason is the usual error reply {"reason": reason}.
func Reason(reason string) *ReplyError {
	return &ReplyError{Response: reasonReply{Reason: reason}}
}

type reasonReply struct {
	Reason string `json:"reason"`
}

func defaultErrorReply(err error) any {
	if re, ok := errors.AsType[*ReplyError](err); ok {
		return re.Response
	}
	return reasonReply{Reason: "internal"}
}
