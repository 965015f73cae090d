package channel

import (
	"context"
	"errors"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/realtime/socket"
	"github.com/agntchat/agntchat/internal/wire"
)

// ErrorReply is the response of an error reply (architecture 7): reason is the
// stable code, which existing clients read, message is for people. It is the
// ErrorReply of socket.Config. log hears of internal errors, whose cause is never
// sent.
func ErrorReply(log func(error)) func(error) any {
	return func(err error) any {
		if re, ok := errors.AsType[*socket.ReplyError](err); ok {
			return re.Response
		}
		if s, ok := flow.IsStale(err); ok {
			return wire.Stale{Stale: true, NewMessages: present.Messages(s.NewMessages)}
		}
		f := fault.From(err)
		if f.Kind == fault.Internal && !errors.Is(err, context.Canceled) {
			log(err)
		}
		out := wire.PushError{Reason: f.Code, Code: f.Code, Message: f.Message}
		if f.Kind == fault.Unavailable {
			out.Reason = "unavailable"
		}
		for _, c := range f.Fields {
			out.Details = append(out.Details, wire.FieldError{Field: c.Field, Code: c.Code, Message: c.Message})
		}
		return out
	}
}

// unauthorized is the refusal of a join: the same for a room that is absent and
// one that may not be seen (bridge 2.3).
var errUnauthorized = socket.Reason("unauthorized")

func joinError(err error) error {
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Forbidden, fault.Unauthenticated:
		return errUnauthorized
	default:
		return err
	}
}
