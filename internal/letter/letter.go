// Package letter owns the relay's tables: mailboxes with their public keys, letters
// until they are collected, signed refusals, nonces and API keys. It knows nothing
// of signatures and HTTP (internal/relay does) and never sees plaintext.
//
// Every call of a client is one transaction that also uses up the call's nonce, so
// that what happened once cannot be made to happen again. Limits of 0 are off.
package letter

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg"
)

// Limits bounds what the relay keeps (letters.md 1.4, 1.5).
type Limits struct {
	Mailbox      int           // letters that wait for one recipient
	PerSender    int           // of these, from one sender; without Mailbox it is off
	MailboxBytes int64         // bytes that wait for one recipient; letters arriving at the same moment may pass it
	OneTimeKeys  int           // unclaimed keys of one address
	Refusals     int           // remembered refusals of one recipient; the oldest goes
	LetterTTL    time.Duration // an uncollected letter is deleted
	RefusedTTL   time.Duration // a refusal is forgotten
	MailboxTTL   time.Duration // an address that does not call is forgotten; in days
	Lease        time.Duration // a letter that was handed out, and of which no end is known, comes again
}

// perSender is in force only beside a limit for all senders (letters.md 1.5).
func (l Limits) perSender() int {
	if l.Mailbox <= 0 {
		return 0
	}
	return l.PerSender
}

// nonceRetention is how long a nonce is remembered (letters.md 1.2).
const nonceRetention = 300 * time.Second

// What a call can be refused for.
var (
	ErrReplay        = errors.New("letter: the nonce was used before")
	ErrUnknown       = errors.New("letter: the address has not published keys")
	ErrNoKeys        = errors.New("letter: no one-time key and no fallback key is left")
	ErrTooManyKeys   = errors.New("letter: too many unclaimed one-time keys")
	ErrMailboxFull   = errors.New("letter: the mailbox is full")
	ErrSenderFull    = errors.New("letter: the mailbox holds too many letters of this sender")
	ErrNotAdmittable = errors.New("letter: the letter could not be stored")
)

// Office is the post office: every use case of the relay on one database.
type Office struct {
	DB     *pg.DB
	Limits Limits
}

// Call is one authenticated call of a client. Caller is its verified address.
type Call struct {
	Caller string
	Nonce  string
	Now    time.Time
	// Admit, when set, is asked once the nonce is known to be new: its error ends the
	// call. It must be quick.
	Admit func() error
}

// statement is sent in the round trip of the nonce; read may be nil.
type statement struct {
	sql  string
	args []any
	read func(rows pgx.Rows) error
}

// do uses up the nonce, runs first and then fn (nil: nothing more), in one
// transaction. When fn refuses, the nonce is used up all the same.
func (o *Office) do(ctx context.Context, c Call, first statement, fn func(ctx context.Context, tx *pg.Tx) error) error {
	fresh := false
	err := o.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		fresh = false
		if err := useNonceTx(ctx, tx, c, first); err != nil {
			return err
		}
		fresh = true
		if c.Admit != nil {
			if err := c.Admit(); err != nil {
				return err
			}
		}
		if fn == nil {
			return nil
		}
		return fn(ctx, tx)
	})
	if err == nil || !fresh || pg.IsUnavailable(err) {
		return err
	}
	burnt := o.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return useNonceTx(ctx, tx, c, statement{}) })
	if burnt != nil && !errors.Is(burnt, ErrReplay) {
		return errors.Join(err, burnt)
	}
	return err
}

func useNonceTx(ctx context.Context, tx *pg.Tx, c Call, first statement) error {
	sum := sha256.Sum256([]byte(c.Nonce))
	fresh, one := false, 0
	var b pg.Batch
	b.Add(pg.ReadValues(&fresh, &one), sqlNonce, sum[:], c.Now, c.Now.Add(-nonceRetention))
	if first.sql != "" {
		b.Add(first.read, first.sql, first.args...)
	}
	err := pg.Run(ctx, tx, &b)
	if err == nil && !fresh {
		err = ErrReplay
	}
	return err
}

// Touch does nothing but use up the nonce: for calls that the database has no other part in.
func (o *Office) Touch(ctx context.Context, c Call) error { return o.do(ctx, c, statement{}, nil) }

// unix is a time as letters carry it.
func unix(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// since is the time before which things are over; the beginning of time when they never are.
func since(now time.Time, ttl time.Duration) time.Time {
	if ttl <= 0 {
		return time.Unix(0, 0)
	}
	return now.Add(-ttl)
}
