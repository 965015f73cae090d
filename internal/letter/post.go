package letter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

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

// Send keeps a letter for its recipient. The same ciphertext from the same sender
// is kept once: the second call gets the first one's id. ErrUnknown,
// ErrMailboxFull, ErrSenderFull.
//
// One statement looks and stores, with room to a limit for all transactions that
// may run at once. Near a limit the mailbox is locked and it runs again, exact.
func (o *Office) Send(ctx context.Context, c Call, to string, mtype int64, body string) (out Posted, err error) {
	hash := sha256.Sum256([]byte(body))
	over, at := unix(since(c.Now, o.Limits.LetterTTL)), unix(c.Now)
	var a admission
	found := false
	try := func(room int) statement {
		l := o.Limits
		return statement{sqlSend, []any{
			to, c.Caller, hash[:], over, c.Now, since(c.Now, o.Limits.RefusedTTL), at, mtype, []byte(body),
			below(l.Mailbox, room), below(l.perSender(), room), below(int(l.MailboxBytes), 0),
		}, pg.ReadValues(&found, a.columns()...)}
	}
	err = o.do(ctx, c, try(2*int(o.DB.Config().MaxConns)), func(ctx context.Context, tx *pg.Tx) error {
		for again := range 5 {
			switch {
			case a.refusal != nil:
				out = Posted{Hash: hash, Refusal: *a.refusal}
				return nil
			case a.stored != nil:
				out = Posted{Hash: hash, ID: *a.stored, SentAt: at}
				return nil
			case a.id != nil && a.sentAt > over:
				out = Posted{Hash: hash, ID: *a.id, SentAt: a.sentAt, Known: true}
				return nil
			case !a.known:
				return ErrUnknown
			case again > 0:
				if err := o.full(a, len(body)); err != nil {
					return err
				}
			}
			if a.id != nil { // it waited in vain and comes anew
				if _, err := tx.Exec(ctx, sqlDeleteLetter, *a.id, a.sentAt); err != nil {
					return fmt.Errorf("delete expired letter: %w", err)
				}
			}
			if again == 0 {
				if _, err := tx.Exec(ctx, sqlLockMailbox, to); err != nil {
					return fmt.Errorf("lock mailbox: %w", err)
				}
			} // else the same letter came in at the same moment
			exact := try(0)
			if err := tx.QueryRow(ctx, exact.sql, exact.args...).Scan(a.columns()...); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
		return ErrNotAdmittable
	})
	return out, err
}

// admission is what sqlSend found; stored is the new letter's id, when it stored it.
type admission struct {
	known             bool
	refusal           *string
	id                *int64
	sentAt            float64
	waiting, ofSender int   // that are not being handed out
	bytes             int64 // of these
	total             int
	totalBytes        int64
	stored            *int64
}

func (a *admission) columns() []any {
	return []any{&a.known, &a.refusal, &a.id, &a.sentAt, &a.waiting, &a.ofSender, &a.bytes, &a.total, &a.totalBytes, &a.stored}
}

// below is what may wait already for one more to be stored; -1 is no limit.
func below(limit, room int) int {
	if limit <= 0 {
		return -1
	}
	return max(limit-room, 0)
}

func (o *Office) full(a admission, size int) error {
	l := o.Limits
	switch {
	case l.Mailbox > 0 && (a.waiting >= l.Mailbox || a.total >= 2*l.Mailbox),
		l.MailboxBytes > 0 && (a.bytes+int64(size) > l.MailboxBytes || a.totalBytes+int64(size) > 2*l.MailboxBytes):
		return ErrMailboxFull
	case l.perSender() > 0 && a.ofSender >= l.perSender():
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
// arrival, and leaves them. Letters that are being handed out are left out; of more
// than fit one answer, the largest.
func (o *Office) Peek(ctx context.Context, c Call, from string) ([]Letter, error) {
	return o.handOut(ctx, c, from, sqlPeekable, func(ctx context.Context, tx *pg.Tx, ids []int64) (pgx.Rows, error) {
		return tx.Query(ctx, sqlShow, ids, c.Now)
	})
}

// answerSenders bounds the list of Senders.
const answerSenders = 1000

// Senders are the addresses whose letters for the caller could be handed out now, in no order. more says that there are further ones.
func (o *Office) Senders(ctx context.Context, c Call) (list []string, more bool, err error) {
	look := statement{sqlSenders, []any{c.Caller, unix(since(c.Now, o.Limits.LetterTTL)), c.Now, answerSenders + 1}, func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}}
	if err := o.do(ctx, c, look, nil); err != nil {
		return nil, false, err
	}
	if more = len(list) > answerSenders; more {
		list = list[:answerSenders]
	}
	return list, more, nil
}

// Lease hands out the caller's letters, all or those of one sender, in the order of
// arrival. Nobody else gets them while the lease lasts. The lease is empty when
// there is no letter. End it by Collected or GiveBack; otherwise the letters come
// again when it has run out.
func (o *Office) Lease(ctx context.Context, c Call, from string) (lease string, out []Letter, err error) {
	lease = uuid.NewString()
	out, err = o.handOut(ctx, c, from, sqlWaiting, func(ctx context.Context, tx *pg.Tx, ids []int64) (pgx.Rows, error) {
		return tx.Query(ctx, sqlLease, ids, c.Now, lease, c.Now.Add(o.Limits.Lease))
	})
	if err != nil || len(out) == 0 {
		return "", nil, err
	}
	return lease, out, nil
}

// handOut takes of what waits as much as fits one answer. Most calls find nothing: they are polls.
func (o *Office) handOut(ctx context.Context, c Call, from, waiting string, take func(ctx context.Context, tx *pg.Tx, ids []int64) (pgx.Rows, error)) (out []Letter, err error) {
	var ids []int64
	look := statement{waiting, []any{c.Caller, from, unix(since(c.Now, o.Limits.LetterTTL)), c.Now, answerLetters}, func(rows pgx.Rows) (err error) {
		ids, err = fitting(rows)
		return err
	}}
	err = o.do(ctx, c, look, func(ctx context.Context, tx *pg.Tx) (err error) {
		out = nil
		if len(ids) > 0 {
			out, err = collect(take(ctx, tx, ids))
		}
		return err
	})
	slices.SortFunc(out, func(a, b Letter) int { return cmp.Compare(a.ID, b.ID) })
	return out, err
}

// fitting are the ids of the letters of one answer: at most answerBytes, but one at least.
func fitting(rows pgx.Rows) (ids []int64, err error) {
	var id, size int64
	sum := int64(0)
	_, err = pgx.ForEachRow(rows, []any{&id, &size}, func() error {
		if sum += size; sum <= answerBytes || len(ids) == 0 {
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
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
	err = o.do(ctx, c, statement{}, func(ctx context.Context, tx *pg.Tx) (err error) {
		deleted, err = collectedTx(ctx, tx, c.Caller, lease)
		return err
	})
	return deleted, err
}

func collectedTx(ctx context.Context, tx *pg.Tx, recipient, lease string) (int, error) {
	if uuid.Validate(lease) != nil {
		return 0, nil //nolint:nilerr // no lease of ours: nothing is collected
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
	refuse := statement{sql: sqlRefuse, args: []any{c.Caller, hash[:], sig, c.Now}}
	return o.do(ctx, c, refuse, func(ctx context.Context, tx *pg.Tx) error {
		if o.Limits.Refusals <= 0 {
			return nil
		}
		_, err := tx.Exec(ctx, sqlEvictRefusals, c.Caller, o.Limits.Refusals)
		return err
	})
}
