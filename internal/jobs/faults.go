package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/agntchat/agntchat/internal/fault"
)

// minSnooze keeps a job that is refused for its rate from spinning.
const minSnooze = time.Second

// faultMapper turns the fault of a job into what River should do (architecture 7,
// column job) and logs it, once.
type faultMapper struct {
	river.MiddlewareDefaults
	log *slog.Logger
}

// Work is the middleware around every job.
func (*faultMapper) Work(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
	return outcome(work(ctx))
}

// outcome cancels what will never succeed, snoozes what came too early, and leaves
// the rest to be retried. River's own words pass.
func outcome(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || errors.As(err, new(*rivertype.JobCancelError)) || errors.As(err, new(*rivertype.JobSnoozeError)) {
		return err
	}
	switch f.Kind {
	case fault.Invalid, fault.Unauthenticated, fault.Forbidden, fault.NotFound, fault.Conflict:
		return river.JobCancel(err)
	case fault.Exhausted:
		return river.JobSnooze(max(f.RetryAfter, minSnooze))
	case fault.Unavailable, fault.Internal:
	}
	return err
}

// HandleError logs a failed attempt; the last one as an error.
func (m *faultMapper) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	attrs := append(attributes(job), slog.String("code", fault.From(err).Code), slog.Any("error", err))
	switch {
	case errors.As(err, new(*rivertype.JobCancelError)):
		m.log.LogAttrs(ctx, slog.LevelWarn, "job cancelled", attrs...)
	case job.Attempt >= job.MaxAttempts:
		m.log.LogAttrs(ctx, slog.LevelError, "job is dead", attrs...)
	default:
		m.log.LogAttrs(ctx, slog.LevelWarn, "job failed and will be retried", attrs...)
	}
	return nil
}

// HandlePanic logs a panic; the job is retried like after an error.
func (m *faultMapper) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	m.log.LogAttrs(ctx, slog.LevelError, "job panicked", append(attributes(job), slog.Any("panic", value), slog.String("trace", trace))...)
	return nil
}

func attributes(job *rivertype.JobRow) []slog.Attr {
	return []slog.Attr{slog.Int64("job_id", job.ID), slog.String("kind", job.Kind), slog.Int("attempt", job.Attempt)}
}
