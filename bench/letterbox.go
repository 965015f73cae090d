package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// handOver measures our own client at both ends of the relay: a letter from the call that sends it until the recipient, woken by
// the relay's push hint, has opened it and handed it on. Both stores are on disk, with all their syncing.
func (h *house) handOver(ctx context.Context, url string, seconds float64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alice, endAlice, err := letterUser(ctx, url)
	if err != nil {
		return err
	}
	defer endAlice()
	bob, endBob, err := letterUser(ctx, url)
	if err != nil {
		return err
	}
	defer endBob()
	hints, err := bob.Hints(ctx)
	if err != nil {
		return err
	}
	from := post.ReceiveOptions{Peers: []string{alice.Me().Address}}
	var r rounds
	// The relay hints at most once a second: letters closer than that wait for each other, which is not what is measured.
	for begun := time.Now(); len(r.each) == 0 || time.Since(begun).Seconds() < seconds; {
		pause := time.NewTimer(1100 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		case <-pause.C:
		}
		at := time.Now()
		sent, err := alice.Send(ctx, bob.Me().Address, "a letter of the length that people write when they have something to say", false)
		if err != nil {
			return fmt.Errorf("hand over: %w", err)
		}
		lost := time.NewTimer(30 * time.Second)
		for came := false; !came; {
			select {
			case <-hints:
			case <-lost.C:
				return errors.New("hand over: no push hint for 30 s")
			}
			_, err := bob.Poll(ctx, from, func(l post.Letter) error {
				came = came || l.ID == sent.ID
				r.each = append(r.each, time.Since(at))
				return nil
			})
			if err != nil {
				return fmt.Errorf("hand over: %w", err)
			}
		}
		lost.Stop()
	}
	slices.Sort(r.each)
	row := h.table.at(letterSection, "from send to hand-over by push, one a second")
	row.add(colP50, r.quantile(.5)).add(colP99, r.quantile(.99))
	row.note = "our client at both ends, keys and letters on disk"
	return nil
}

// letterUser is a new identity that is known to the relay.
func letterUser(ctx context.Context, url string) (b *post.Box, end func(), err error) {
	dir, err := os.MkdirTemp("", "letterbox-")
	if err != nil {
		return nil, nil, err
	}
	s, err := post.Create(ctx, dir, store.Passphrase{}, store.DefaultCost, store.Identity{}, "")
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	end = func() {
		_ = s.Close()
		_ = os.RemoveAll(dir)
	}
	b, err = post.Open(ctx, post.Config{Store: s, Book: store.OpenBook(dir), Relay: url, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = b.Sync(ctx, post.ResendNone)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return b, end, nil
}
