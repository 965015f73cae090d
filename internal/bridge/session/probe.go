package session

import (
	"context"
	"fmt"
	"os"
)

// Probe exchanges the key and fetches the profile without registering, and
// returns what a backend is made from. It does not retry: a caller wants to
// know what is wrong now. ErrKeyRefused and *StatusError pass through.
func Probe(ctx context.Context, opt Options) (Need, error) {
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return Need{}, fmt.Errorf("agent folder: %w", err)
	}
	a := New(opt)
	if err := a.fetchProfile(ctx); err != nil {
		return Need{}, err
	}
	name := opt.Backend
	if name == "" {
		name = a.profile.ModelConfig.Backend
	}
	return Need{Name: name, Profile: a.profile, Dir: opt.Dir, Credential: a.credential}, nil
}
