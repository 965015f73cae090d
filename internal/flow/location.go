package flow

import (
	"context"
	"math"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/pg"
)

// ErrNoLocation is the answer while a person shares none; bridges take its 404 for "no
// location" (bridge contract 3.5).
var ErrNoLocation = fault.New(fault.NotFound, "no_location", "The owner has not shared a location.")

func checkPlace(l account.Location) error {
	bad := fault.New(fault.Invalid, "invalid", "This is no place on earth.")
	off := func(v, most float64) bool { return math.IsNaN(v) || v < -most || v > most }
	switch {
	case off(l.Latitude, 90):
		return bad.With("latitude", "range", "must be -90 to 90 degrees")
	case off(l.Longitude, 180):
		return bad.With("longitude", "range", "must be -180 to 180 degrees")
	case l.Accuracy != nil && (off(*l.Accuracy, 1e7) || *l.Accuracy < 0):
		return bad.With("accuracy", "range", "must be metres, 0 or more")
	}
	return nil
}

// ShareLocation lets the caller's own agents know where they are, until it is taken back.
func (i *Identity) ShareLocation(ctx context.Context, actor access.Actor, l account.Location) (account.Location, error) {
	if err := access.RequirePerson(actor); err != nil {
		return l, err
	}
	if err := checkPlace(l); err != nil {
		return l, err
	}
	l.Timestamp = time.Now().UTC().Truncate(time.Microsecond)
	return l, i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return account.SetLocationTx(ctx, tx, actor.ID, &l) })
}

// HideLocation takes it back.
func (i *Identity) HideLocation(ctx context.Context, actor access.Actor) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	return i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return account.SetLocationTx(ctx, tx, actor.ID, nil) })
}

// OwnerLocation is where the owner of the calling agent is; ErrNoLocation.
func (i *Identity) OwnerLocation(ctx context.Context, actor access.Actor) (l account.Location, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return l, err
	}
	a, err := account.Get(ctx, i.DB, actor.OwnerID)
	if err != nil {
		return l, err
	}
	l, ok := a.Place()
	if !ok {
		return l, ErrNoLocation
	}
	return l, nil
}
