package flow

import (
	"context"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/connection"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/secret"
	"github.com/agntchat/agntchat/internal/view"
)

// Connections is the use cases of outside HTTP services that people let their
// agents call. Everything is the owner's; secrets go in and never come out.
type Connections struct {
	DB    *pg.DB
	Ring  *secret.Ring
	Fetch *outbound.Client
}

// ConnectionEdit changes a service; nil fields stay.
type ConnectionEdit struct {
	Name        *string
	Description *string
	BaseURL     *string
	AuthKind    *string // with it goes a new Secret, but for none
	AuthName    *string
	Secret      *string // "" stays
	Shared      *bool
	Enabled     *bool
	Operations  *[]connection.Operation
	Agents      *[]id.Participant
}

func set[T any](v *T, by *T) {
	if by != nil {
		*v = *by
	}
}

func (e ConnectionEdit) apply(c *connection.Connection) {
	set(&c.Name, e.Name)
	set(&c.Description, e.Description)
	set(&c.BaseURL, e.BaseURL)
	set(&c.AuthKind, e.AuthKind)
	set(&c.AuthName, e.AuthName)
	set(&c.Shared, e.Shared)
	set(&c.Enabled, e.Enabled)
	set(&c.Operations, e.Operations)
	set(&c.Agents, e.Agents)
	c.BaseURL = strings.TrimRight(strings.TrimSpace(c.BaseURL), "/")
}

// List lists the caller's services.
func (s *Connections) List(ctx context.Context, actor access.Actor) ([]connection.Connection, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return connection.OfOwner(ctx, s.DB, actor.ID)
}

// Create stores a service.
func (s *Connections) Create(ctx context.Context, actor access.Actor, e ConnectionEdit) (out connection.Connection, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	c := connection.Connection{ID: id.New[id.Connection](), OwnerID: actor.ID, AuthKind: connection.None, Enabled: true}
	e.apply(&c)
	sealed, err := s.sealed(&c, e)
	if err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if err := s.check(ctx, tx, c); err != nil {
			return err
		}
		if err := connection.InsertTx(ctx, tx, c, sealed); err != nil {
			return err
		}
		out, err = connection.Get(ctx, tx, actor.ID, c.ID)
		return err
	})
	return out, err
}

// Edit changes a service of the caller. Another address needs the secret again:
// otherwise it could be sent to whoever has the new address.
func (s *Connections) Edit(ctx context.Context, actor access.Actor, cid id.Connection, e ConnectionEdit) (out connection.Connection, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		c, err := connection.Get(ctx, tx, actor.ID, cid)
		if err != nil {
			return err
		}
		before := c
		e.apply(&c)
		resealed := (e.Secret != nil && *e.Secret != "") || c.AuthKind != before.AuthKind
		if c.AuthKind != connection.None && !resealed && origin(c.BaseURL) != origin(before.BaseURL) {
			return fault.New(fault.Invalid, "invalid", "Another server needs the secret again.").With("auth.secret", "required", "Paste the secret for the new address.")
		}
		if err := s.check(ctx, tx, c); err != nil {
			return err
		}
		if resealed {
			sealed, err := s.sealed(&c, e)
			if err != nil {
				return err
			}
			if err := connection.SealTx(ctx, tx, c, sealed); err != nil {
				return err
			}
		}
		if err := connection.UpdateTx(ctx, tx, c); err != nil {
			return err
		}
		out, err = connection.Get(ctx, tx, actor.ID, cid)
		return err
	})
	return out, err
}

func origin(raw string) string {
	u, err := outbound.ParseURL(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Delete forgets a service of the caller.
func (s *Connections) Delete(ctx context.Context, actor access.Actor, cid id.Connection) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return connection.DeleteTx(ctx, tx, actor.ID, cid) })
}

func (s *Connections) check(ctx context.Context, tx *pg.Tx, c connection.Connection) error {
	if err := c.Check(); err != nil {
		return err
	}
	u, err := outbound.ParseURL(c.BaseURL)
	bad := fault.New(fault.Invalid, "invalid", "This service cannot be stored.")
	if err != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.EscapedPath(), "%") {
		return bad.With("baseUrl", "format", "An address like https://api.example.com/v1, without a query.")
	}
	if c.AuthKind != connection.None && u.Scheme != "https" && !s.Fetch.Trusts(u) {
		return bad.With("baseUrl", "insecure", "A secret is only sent over https.")
	}
	mine, err := view.AgentsOf(ctx, tx, c.OwnerID, id.Organization{})
	if err != nil {
		return err
	}
	for _, a := range c.Agents {
		if !slices.ContainsFunc(mine, func(m view.Agent) bool { return m.ID == a }) {
			return bad.With("agentIds", "unknown", "Only your own agents can use this.")
		}
	}
	return nil
}

// sealed seals the secret of an edit and notes its fingerprint; nil where none is needed.
func (s *Connections) sealed(c *connection.Connection, e ConnectionEdit) ([]byte, error) {
	c.Fingerprint = nil
	if c.AuthKind == connection.None {
		return nil, nil
	}
	if e.Secret == nil || *e.Secret == "" || len(*e.Secret) > 4096 || strings.ContainsAny(*e.Secret, "\r\n\x00") {
		return nil, fault.New(fault.Invalid, "invalid", "This service needs a secret.").With("auth.secret", "required", "Paste the secret, one line of at most 4096 bytes.")
	}
	plain := []byte(*e.Secret)
	c.Fingerprint = new(s.Ring.Fingerprint(plain))
	return s.Ring.Seal(connection.Purpose(c.ID), plain), nil
}
