package post

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// ReceiveOptions says whose letters to fetch and what to do with them.
type ReceiveOptions struct {
	Peers        []string // addresses; only their letters are asked for
	All          bool     // everyone's, instead of Peers
	PeersOnly    bool     // refuse letters of senders that are no contacts
	DropContacts bool     // do not stage shared contacts
	Save         bool     // keep letters in the history
}

// Received is what a receive did beside handing letters on.
type Received struct {
	Letters    int
	Asked      int       // how many senders the relay was asked for; each is a call
	Unreadable []Failure // letters that could not be opened; their senders were asked for another copy
	Skipped    []Failure // what was left alone: senders the relay knows no keys of, control letters that make no sense
}

// Failure is a letter that was not handed on, and why.
type Failure struct{ Peer, Text string }

// Receive fetches the letters of the chosen peers once and gives each to deliver, the oldest first of each peer. A letter is
// acknowledged, which lets its sender forget it, after deliver returned nil: by then deliver must have put it where a crash
// cannot reach it. When deliver fails, or the process ends, the same letter with the same ID is given again by the next
// Receive. Two processes may receive at once; deliver then runs in one of them at a time, and must not receive itself.
//
// Errors: [ErrPinMismatch], which stops everything; [ErrHeld]; those of a call; what deliver said.
func (b *Box) Receive(ctx context.Context, o ReceiveOptions, deliver func(Letter) error) (Received, error) {
	r, targets, err := b.reception(o)
	if err != nil {
		return Received{}, err
	}
	// What is here already needs no relay: it does not wait for one that is away or refuses keys.
	if err := r.handOn(ctx, targets, deliver); err != nil {
		return r.done, err
	}
	if _, err := b.upkeep(ctx); err != nil {
		return r.done, err
	}
	return r.poll(ctx, targets, deliver)
}

// Poll is [Box.Receive] without looking after the keys, for those who look often. Keys want looking after once a minute or so.
func (b *Box) Poll(ctx context.Context, o ReceiveOptions, deliver func(Letter) error) (Received, error) {
	r, targets, err := b.reception(o)
	if err != nil {
		return Received{}, err
	}
	return r.poll(ctx, targets, deliver)
}

// Fetch is [Box.Poll] for a moment at which nobody takes letters: they are opened and wait in the store for the next look, not
// acknowledged yet; acknowledgements and refusals of one's own letters are dealt with. Whether letters are kept in the history is
// decided now.
func (b *Box) Fetch(ctx context.Context, o ReceiveOptions) (Received, error) {
	return b.Poll(ctx, o, nil)
}

func (b *Box) reception(o ReceiveOptions) (*reception, []string, error) {
	targets := o.targets()
	if len(targets) == 0 {
		return nil, nil, errors.New("no sender was chosen")
	}
	return &reception{box: b, options: o, unknown: map[string]bool{}}, targets, nil
}

func (r *reception) poll(ctx context.Context, targets []string, deliver func(Letter) error) (Received, error) {
	ask := r.box.relay.waiting(ctx, targets)
	r.done.Asked = len(ask)
	for _, peer := range ask {
		if err := r.box.relay.read(ctx, peer, func(m letter.Message) error { return r.keep(ctx, m) }); err != nil {
			// What came before is in the store and will be handed on by the next run; a letter must not wait for that.
			return r.done, errors.Join(err, r.handOn(ctx, targets, deliver))
		}
	}
	if err := r.handOn(ctx, targets, deliver); err != nil {
		return r.done, err
	}
	err := r.box.store.Tx(ctx, func(tx *store.Tx) (err error) {
		for _, peer := range targets {
			err = errors.Join(err, tx.Looked(peer))
		}
		return err
	})
	if err != nil {
		return r.done, err
	}
	return r.done, r.box.answer(ctx, false)
}

// targets are the peers to ask for, each once; the empty one stands for all.
func (o ReceiveOptions) targets() []string {
	if o.All {
		return []string{""}
	}
	var list []string
	seen := map[string]bool{"": true}
	for _, p := range o.Peers {
		if !seen[p] {
			list = append(list, p)
		}
		seen[p] = true
	}
	return list
}

// reception is one run of Receive.
type reception struct {
	box      *Box
	options  ReceiveOptions
	requests bool // only contact requests are wanted; other letters stay unopened
	contacts Contacts
	unknown  map[string]bool // senders whose keys could not be had in this run
	missed   error           // why, when the relay was out of reach
	done     Received
}

// keep stores a ciphertext before the relay forgets it.
func (r *reception) keep(ctx context.Context, m letter.Message) error {
	if m.MType < math.MinInt32 || m.MType > math.MaxInt32 {
		return nil
	}
	return r.box.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.AddIncoming(store.Incoming{Hash: letter.BodyHash(m.Body), Peer: m.From, MType: int(m.MType), Body: m.Body, At: m.TS})
	})
}

// ErrHeld is another process of the identity that is taking letters, and is slow with it or, when nobody reads its output, does not end.
// Nobody else can have letters meanwhile.
var ErrHeld = errors.New("another program of this identity holds the letters: it takes them slowly, or not at all")

// heldFor is how long that may last before it is said.
const heldFor = time.Minute

// handOn opens what waits and gives it to deliver. It needs the relay only for the keys of senders that are not known yet: when it
// is out of reach their letters wait, the others' do not, and the error comes at the end.
func (r *reception) handOn(ctx context.Context, targets []string, deliver func(Letter) error) (err error) {
	if r.contacts, err = r.box.Contacts(ctx); err != nil {
		return err
	}
	if err := r.fetchKeys(ctx, targets); err != nil {
		return err
	}
	within, cancel := context.WithTimeoutCause(ctx, r.box.patience, ErrHeld)
	release, err := r.box.store.Lock(within, store.Delivery)
	cancel()
	if err != nil {
		return err
	}
	defer release()
	for _, peer := range targets {
		// First what an earlier run opened and could not hand on.
		if err := r.deliver(ctx, peer, deliver); err != nil {
			return err
		}
		for after := int64(0); ; {
			var in store.Incoming
			var more bool
			err := r.box.store.Tx(ctx, func(tx *store.Tx) (err error) {
				in, more, err = tx.NextIncoming(after, peer)
				return err
			})
			if err != nil {
				return err
			}
			if !more {
				break
			}
			after = in.N
			if err := r.open(ctx, in); err != nil {
				return err
			}
			if err := r.deliver(ctx, peer, deliver); err != nil {
				return err
			}
		}
	}
	return r.missed
}

// fetchKeys asks for the keys of senders that are not known yet, before the lock is taken.
func (r *reception) fetchKeys(ctx context.Context, targets []string) error {
	var senders []string
	err := r.box.store.Tx(ctx, func(tx *store.Tx) (err error) {
		senders, err = tx.IncomingFrom()
		return err
	})
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, t := range targets {
		wanted[t] = true
	}
	for _, peer := range senders {
		if !wanted[peer] && !wanted[""] || r.unknown[peer] {
			continue
		}
		if refused, err := r.refuses(ctx, peer); err != nil || refused {
			if err != nil {
				return err
			}
			continue
		}
		if r.missed != nil {
			if _, known, err := r.box.knownKeys(ctx, peer); err != nil || !known {
				r.unknown[peer] = true
				if err != nil {
					return err
				}
			}
			continue
		}
		_, err := r.box.keys(ctx, peer)
		if errors.Is(err, ErrUnreachable) && ctx.Err() == nil {
			r.unknown[peer], r.missed = true, err
			continue
		}
		if e, ok := errors.AsType[*RelayError](err); ok {
			r.unknown[peer] = true
			r.done.Skipped = append(r.done.Skipped, Failure{peer, "its letters wait here until its keys can be had: " + e.Error()})
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuses says whether letters of a peer are turned away unopened.
func (r *reception) refuses(ctx context.Context, peer string) (refused bool, err error) {
	if _, known := r.contacts.ByAddress(peer); r.options.PeersOnly && !known {
		return true, nil
	}
	err = r.box.store.Tx(ctx, func(tx *store.Tx) (err error) {
		refused, err = tx.IsBlocked(peer)
		return err
	})
	return refused, err
}

// deliver gives what is open to the caller's function; without one it stays where it is.
func (r *reception) deliver(ctx context.Context, peer string, deliver func(Letter) error) error {
	if deliver == nil {
		return nil
	}
	for after := int64(0); ; {
		var a store.Arrived
		var more bool
		err := r.box.store.Tx(ctx, func(tx *store.Tx) (err error) {
			a, more, err = tx.NextArrived(after, peer)
			return err
		})
		if err != nil || !more {
			return err
		}
		after = a.N
		var l stored
		if err := json.Unmarshal(a.Letter, &l); err != nil {
			return errors.Join(store.ErrDamaged, err)
		}
		if r.requests && !l.answersRequest() {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := deliver(r.show(l)); err != nil {
			return fmt.Errorf("hand on letter: %w", err)
		}
		r.done.Letters++
		// Noted even when the caller was told to end meanwhile: otherwise the letter would come again.
		err = r.box.store.Tx(context.WithoutCancel(ctx), func(tx *store.Tx) error {
			if err := tx.DropArrived(a.N); err != nil || l.Kind == ContactRejected {
				return err // that one was refused when it was opened
			}
			return tx.AddAnswer(a.Peer, store.Ack, a.ID)
		})
		if err != nil {
			return err
		}
	}
}

// stored is a letter between opening and handing on. What a sender calls itself is kept as it is; the name that is shown
// depends on the contacts at that time.
type stored struct {
	Letter
	OwnName string
}

// answersRequest says whether it is the record of a contact request.
func (l stored) answersRequest() bool { return l.Kind == ContactAccepted || l.Kind == ContactRejected }

func (r *reception) show(l stored) Letter {
	out := l.Letter
	if !l.answersRequest() {
		out.Name = r.contacts.Display(l.From, l.OwnName)
	}
	c, _ := r.contacts.ByAddress(l.From)
	out.Verified = c.Verified() || out.Kind == ContactAccepted
	return out
}

// answer gives the answers that are owed and due, or all when early is set: acknowledgements and refusals. A failure costs nothing
// but a copy that comes again.
//
// Of what a peer is owed the oldest goes first, and what comes after it waits when it fails: so at most one acknowledgement is
// encrypted and not delivered, however long its mailbox is full, and the peer misses no key.
func (b *Box) answer(ctx context.Context, early bool) error {
	var owed []store.Answer
	now := 0.0
	err := b.store.Tx(ctx, func(tx *store.Tx) (err error) {
		owed, err = tx.Answers()
		now = tx.Now()
		return err
	})
	if err != nil {
		return err
	}
	waits := map[string]bool{}
	for _, a := range owed {
		if waits[a.Kind+a.Peer] || !early && a.Due > now {
			waits[a.Kind+a.Peer] = a.Kind == store.Ack
			continue
		}
		err := b.giveAnswer(ctx, a)
		if r, ok := errors.AsType[*RelayError](err); ok && r.everyCall() {
			b.log.Debug("answers wait", "error", err.Error())
			return nil // the letters are in; the next run goes on with the answers
		}
		if ctx.Err() != nil || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrPinMismatch) {
			return err
		}
		if err != nil {
			b.log.Debug("an answer did not go out", "peer", a.Peer, "kind", a.Kind, "error", err.Error())
		}
		failed := err != nil
		waits[a.Kind+a.Peer] = failed && a.Kind == store.Ack
		err = b.store.Tx(ctx, func(tx *store.Tx) error {
			if !failed || tx.Now()-a.Since > giveUpAfter.Seconds() {
				return tx.DropAnswer(a.N)
			}
			return tx.AnswerFailed(a.N, tx.Now()+backoff(a.Tries, answerFirst, answerMost))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// How long a failed answer waits: the shortest and the longest time. After giveUpAfter it is dropped: a relay that does not know
// the peer any more gets no further answers for it.
const (
	answerFirst = 15 * time.Second
	answerMost  = 15 * time.Minute
)

func (b *Box) giveAnswer(ctx context.Context, a store.Answer) error {
	if a.Kind == store.Nack {
		return b.relay.nack(ctx, a.Ref)
	}
	plain, err := b.pack(ctx, a.Peer, envelope{ID: a.Ref, Kind: kindAck})
	if err != nil {
		return err
	}
	var ack store.Answer
	owed := false
	err = b.withSession(ctx, a.Peer, func(tx *store.Tx, s *sealer) (err error) {
		if ack, owed, err = tx.Answer(a.N); err != nil || !owed {
			return err
		}
		if good, err := sends(tx, a.Peer, ack.Session); err != nil || ack.Body != "" && good {
			return err // encrypted by an earlier try, and the peer still has the session
		}
		if ack.MType, ack.Body, ack.Session, err = s.seal(tx, plain); err != nil {
			return err
		}
		return tx.SealAnswer(ack)
	})
	if err != nil || !owed {
		return err
	}
	_, err = b.relay.send(ctx, a.Peer, ack.MType, ack.Body)
	return err
}

// sends says whether a session with a peer is one that may send.
func sends(tx *store.Tx, peer, session string) (bool, error) {
	list, err := tx.Sessions(peer)
	return slices.ContainsFunc(list, func(s store.Session) bool { return s.ID == session && !s.Retired }), err
}
