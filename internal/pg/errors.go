package pg

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agntchat/agntchat/internal/fault"
)

var errPoolBusy = errors.New("no database connection became free in time")

var errUnavailable = fault.New(fault.Unavailable, "database_unavailable", "The database cannot be reached right now. Try again in a moment.").After(2 * time.Second)

var errCommitUnknown = fault.New(fault.Unavailable, "commit_unknown", "The database went away while saving. Look whether it was saved before you try again.").After(2 * time.Second)

var errUnstorable = fault.New(fault.Invalid, "invalid", "This holds a character that cannot be stored, such as U+0000.")

// ErrUnavailable matches, with errors.Is, every error of a database that cannot
// be reached.
var ErrUnavailable error = errUnavailable

// IsUnique reports a violation of the named unique constraint or index; with an
// empty name, of any.
func IsUnique(err error, constraint string) bool { return violates(err, "23505", constraint) }

func violates(err error, code, constraint string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == code && (constraint == "" || e.ConstraintName == constraint)
}

// isUnstorable reports text that no column takes, such as one with U+0000. Only
// input can hold it, so it is the caller's mistake wherever it comes from.
func isUnstorable(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "22021" || e.Code == "22P05")
}

// IsNotFound reports that a query for one row found none.
func IsNotFound(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// IsRetryable reports that Postgres refused a transaction only because of others
// (serialization failure, deadlock): nothing was done, doing it again may succeed.
func IsRetryable(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}

// IsUnavailable reports that the database could not be reached, was shutting down
// or starting, had no free connection, or took longer than the statement timeout.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) { // the caller went away, not the database
		return false
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Kind == fault.Unavailable
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "57014" {
		return true
	}
	return isConnectionTrouble(err)
}

// isConnectionTrouble reports errors of the connection rather than of the statement.
func isConnectionTrouble(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "57P01", "57P02", "57P03", "53300": // shutdown, crash, cannot connect now, too many
			return true
		}
		return strings.HasPrefix(e.Code, "08")
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	if errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(lostError)) {
		return true
	}
	return errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, os.ErrDeadlineExceeded) || pgconn.SafeToRetry(err) || isCutOff(err)
}

// isCutOff recognises pgx's wordings for a connection that ended in the middle.
func isCutOff(err error) bool {
	s := err.Error()
	return strings.HasSuffix(s, "unexpected EOF") || strings.HasSuffix(s, "conn closed")
}

func unavailable(cause error) error { return errUnavailable.Because(cause) }

// mapErr makes connection trouble a fault of kind Unavailable and text that cannot
// be stored one of kind Invalid; it leaves every other error, including faults, as
// it is.
func mapErr(err error) error {
	switch {
	case err == nil || errors.As(err, new(*fault.Error)):
		return err
	case isUnstorable(err):
		return errUnstorable.Because(err)
	case IsUnavailable(err):
		return unavailable(err)
	}
	return err
}

// redact keeps the reason of a URL that does not parse and drops the URL itself,
// which may hold a password.
func redact(err error) error {
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		if cause := e.Unwrap(); cause != nil && !strings.Contains(cause.Error(), "://") {
			return cause
		}
	}
	return errors.New("it is not a valid Postgres address")
}

// sleep waits; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func setDefault(m map[string]string, k, v string) {
	if _, ok := m[k]; !ok {
		m[k] = v
	}
}
