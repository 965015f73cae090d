package letter

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/pg"
)

// Letter is one ciphertext that waits. SentAt is in Unix seconds.
type Letter struct {
	ID     int64
	SentAt float64
	From   string
	MType  int64
	Body   string
}

// Posted answers Send: the id and time of the kept letter, or the recipient's
// proof that it refused this ciphertext.
type Posted struct {
	ID      int64
	SentAt  float64
	Known   bool // the same ciphertext of the same sender was waiting already
	Refusal string
	Hash    [sha256.Size]byte
}

// nearFull is how close to a limit a send must be to look again under a lock: more
// than transactions can run at once.
const nearFull = 256

// Send keeps a letter for its recipient. The same ciphertext from the same sender
// is kept once: the second call gets the first one's id. ErrUnknown,
// ErrMailboxFull, ErrSenderFull.
func (o *Office) Send(ctx context.Context, c Call, to string, mtype int64, body string) (out Posted, err error) {
	hash := sha256.Sum256([]byte(body))
	err = o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) error {
		out = Posted{Hash: hash, SentAt: unix(c.Now)}
		locked := false
		for range 5 {
			a, err := o.admissionTx(ctx, tx, c, to, hash[:])
			switch {
			case err != nil:
				return err
			case a.refusal != "":
				out.Refusal = a.refusal
				return nil
			case a.id != nil && !a.expired:
				out.ID, out.SentAt, out.Known = *a.id, a.sentAt, true
				return nil
			case !a.known:
				return ErrUnknown
			case !locked && o.near(a):
				if _, err := tx.Exec(ctx, sqlLockMailbox, to); err != nil {
					return fmt.Errorf("lock mailbox: %w", err)
				}
				locked = true
				continue
			}
			if err := o.full(a, len(body)); err != nil {
				return err
			}
			if a.id != nil { // it waited in vain and comes anew
				if _, err := tx.Exec(ctx, sqlDeleteLetter, *a.id, a.sentAt); err != nil {
					return fmt.Errorf("delete expired letter: %w", err)
				}
			}
			err = tx.QueryRow(ctx, sqlStore, out.SentAt, c.Caller, to, mtype, hash[:], []byte(body)).Scan(&out.ID)
			if !pg.IsNotFound(err) {
				return err
			}
			// The same letter came in at the same moment: look again.
		}
		return ErrNotAdmittable
	})
	return out, err
}

type admission struct {
	known    bool
	refusal  string
	id       *int64
	sentAt   float64
	expired  bool
	waiting  int
	ofSender int
	bytes    int64
}

func (o *Office) admissionTx(ctx context.Context, tx *pg.Tx, c Call, to string, hash []byte) (a admission, err error) {
	var refusal *string
	over := unix(since(c.Now, o.Limits.LetterTTL))
	err = tx.QueryRow(ctx, sqlAdmission, to, c.Caller, hash, over, c.Now, since(c.Now, o.Limits.RefusedTTL)).
		Scan(&a.known, &refusal, &a.id, &a.sentAt, &a.waiting, &a.ofSender, &a.bytes)
	if err != nil {
		return a, fmt.Errorf("look at mailbox: %w", err)
	}
	if refusal != nil {
		a.refusal = *refusal
	}
	a.expired = a.id != nil && a.sentAt <= over
	return a, nil
}

func (o *Office) near(a admission) bool {
	l := o.Limits
	return (l.Mailbox > 0 && a.waiting+nearFull > l.Mailbox) || (l.PerSender > 0 && a.ofSender+nearFull > l.PerSender)
}

func (o *Office) full(a admission, size int) error {
	l := o.Limits
	switch {
	case l.Mailbox > 0 && a.waiting >= l.Mailbox, l.MailboxBytes > 0 && a.bytes+int64(size) > l.MailboxBytes:
		return ErrMailboxFull
	case l.PerSender > 0 && a.ofSender >= l.PerSender:
		return ErrSenderFull
	}
	return nil
}

// Bounds of one answer: what does not fit comes with the next call.
const (
	answerLetters = 1000
	answerBytes   = 8 << 20
)

// Peek shows the caller's letters, all or those of one sender, in the order of
// arrival, and leaves them. Letters that are being handed out are left out.
func (o *Office) Peek(ctx context.Context, c Call, from string) (out []Letter, err error) {
	err = o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) (err error) {
		out, err = collect(tx.Query(ctx, sqlPeek, c.Caller, from, unix(since(c.Now, o.Limits.LetterTTL)), c.Now, answerBytes, answerLetters))
		return err
	})
	return out, err
}

// Lease hands out the caller's letters, all or those of one sender, in the order of
// arrival. Nobody else gets them while the lease lasts. The lease is empty when
// there is no letter. End it by Collected or GiveBack; otherwise the letters come
// again when it has run out.
func (o *Office) Lease(ctx context.Context, c Call, from string) (lease string, out []Letter, err error) {
	err = o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) (err error) {
		lease = uuid.NewString()
		out, err = collect(tx.Query(ctx, sqlLease, c.Caller, from, unix(since(c.Now, o.Limits.LetterTTL)), c.Now, answerBytes, answerLetters, lease, c.Now.Add(o.Limits.Lease)))
		return err
	})
	if err != nil || len(out) == 0 {
		return "", nil, err
	}
	slices.SortFunc(out, func(a, b Letter) int { return int(a.ID - b.ID) })
	return lease, out, nil
}

// Collected deletes what was handed out under the lease: it has arrived.
func (o *Office) Collected(ctx context.Context, recipient, lease string) (deleted int, err error) {
	err = o.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		deleted, err = collectedTx(ctx, tx, recipient, lease)
		return err
	})
	return deleted, err
}

// Confirm is Collected as a call of the recipient itself.
func (o *Office) Confirm(ctx context.Context, c Call, lease string) (deleted int, err error) {
	err = o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) (err error) {
		deleted, err = collectedTx(ctx, tx, c.Caller, lease)
		return err
	})
	return deleted, err
}

func collectedTx(ctx context.Context, tx *pg.Tx, recipient, lease string) (int, error) {
	if uuid.Validate(lease) != nil {
		return 0, nil
	}
	tag, err := tx.Exec(ctx, sqlCollected, recipient, lease)
	return int(tag.RowsAffected()), err
}

// GiveBack ends a lease without a delivery: the letters may be handed out at once.
func (o *Office) GiveBack(ctx context.Context, recipient, lease string) error {
	return o.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, sqlGiveBack, recipient, lease)
		return err
	})
}

// Refuse remembers that the caller does not take the ciphertext of this hash; sig
// is the proof for its sender. The oldest refusals beyond the limit are forgotten.
func (o *Office) Refuse(ctx context.Context, c Call, hash [sha256.Size]byte, sig string) error {
	return o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, sqlRefuse, c.Caller, hash[:], sig, c.Now); err != nil {
			return fmt.Errorf("refuse: %w", err)
		}
		if o.Limits.Refusals <= 0 {
			return nil
		}
		_, err := tx.Exec(ctx, sqlEvictRefusals, c.Caller, o.Limits.Refusals)
		return err
	})
}
