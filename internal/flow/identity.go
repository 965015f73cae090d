package flow

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/secret"
	"github.com/agntchat/agntchat/internal/view"
)

// AgentTokenLife is how long an agent token is valid (bridge 1.2).
const AgentTokenLife = 15 * time.Minute

const (
	sessionRecheck = time.Minute      // how long a cached session is believed
	sessionTouch   = 10 * time.Minute // how often use extends a session
	cacheMost      = 100_000
	tokenIssuer    = "agntchat"
	tokenAudience  = "agent"
)

// Disconnecter closes live sockets whose right to be here has ended.
type Disconnecter interface {
	// DisconnectParticipant closes all sockets of a participant.
	DisconnectParticipant(p id.Participant, reason string)
	// DisconnectSession closes the sockets of one sign-in.
	DisconnectSession(s id.Session, reason string)
}

// SignupMode says who may make an account.
type SignupMode string

// The modes.
const (
	SignupOpen   SignupMode = "open"
	SignupClosed SignupMode = "closed"
)

// Identity knows who is who: accounts, sessions, agents and their keys. Its caches
// are right because there is one process and every change goes through it.
type Identity struct {
	DB     *pg.DB
	Ring   *secret.Ring
	Hasher *account.Hasher
	Signup SignupMode
	// Retire inserts the job that closes what an agent still had to answer when it is
	// deleted or switched off. Nil does nothing.
	Retire func(ctx context.Context, tx *pg.Tx, agent id.Participant) error
	// Leave gives up a person's seats before the account is deleted. Nil does nothing.
	Leave func(ctx context.Context, actor access.Actor) error
	Log   *slog.Logger

	disconnect Disconnecter
	failures   *limit.Buckets // failed logins and exchanges only (decision 4)
	searches   *limit.Buckets // people searches, per person

	mu       sync.RWMutex
	changes  uint64 // how often something was forgotten
	sessions map[[32]byte]*cachedSession
	agents   map[id.Participant]*view.AgentIdentity
	prefixes map[string]id.Participant
}

type cachedSession struct {
	actor   access.Actor
	checked time.Time
	expires time.Time
}

// NewIdentity makes the service. Twenty failures at once, then one every six
// seconds, per address and per account.
func NewIdentity(db *pg.DB, ring *secret.Ring, hasher *account.Hasher, signup SignupMode, d Disconnecter, log *slog.Logger) *Identity {
	return &Identity{
		DB: db, Ring: ring, Hasher: hasher, Signup: signup, Log: log, disconnect: d,
		failures: limit.New(1.0/6, 20, 100_000), searches: limit.New(1, 30, 100_000),
		sessions: make(map[[32]byte]*cachedSession), agents: make(map[id.Participant]*view.AgentIdentity), prefixes: make(map[string]id.Participant),
	}
}

// Authenticate turns a bearer token into an Actor. Every failure is
// fault.ErrUnauthenticated, so that nothing is learned from it. A raw agent key
// counts only for agents in code_action mode (decision 3); the edge limits its routes.
func (i *Identity) Authenticate(ctx context.Context, token string) (access.Actor, error) {
	switch {
	case token == "" || len(token) > 4096:
		return access.Actor{}, fault.ErrUnauthenticated
	case strings.HasPrefix(token, account.TokenPrefix):
		return i.authenticateSession(ctx, token)
	case strings.HasPrefix(token, agent.KeyPrefix):
		ag, err := i.agentByKey(ctx, token)
		if err != nil || !ag.CodeAction {
			return access.Actor{}, orUnauthenticated(err)
		}
		actor := agentActor(ag)
		actor.RawKey = true
		return actor, nil
	default:
		return i.authenticateAgentToken(ctx, token)
	}
}

func orUnauthenticated(err error) error {
	if err == nil || fault.KindOf(err) == fault.NotFound {
		return fault.ErrUnauthenticated
	}
	return err
}

func (i *Identity) authenticateSession(ctx context.Context, token string) (access.Actor, error) {
	hash := [32]byte(account.HashToken(token))
	now := time.Now()
	i.mu.RLock()
	c, changes := i.sessions[hash], i.changes
	i.mu.RUnlock()
	if c != nil && now.Sub(c.checked) < sessionRecheck && now.Before(c.expires) {
		return c.actor, nil
	}
	s, err := account.FindSession(ctx, i.DB, hash[:])
	if err != nil {
		i.forgetSession(hash)
		return access.Actor{}, err
	}
	p, err := view.Person(ctx, i.DB, s.AccountID)
	if err != nil {
		return access.Actor{}, err
	}
	fresh := &cachedSession{checked: now, expires: s.ExpiresAt, actor: access.Actor{
		Kind: access.Person, ID: p.ID, OwnerID: p.ID, OrganizationID: p.ActiveOrganizationID, SessionID: s.ID, PlatformAdmin: p.PlatformAdmin, DisplayName: p.DisplayName,
	}}
	if now.Sub(s.LastSeenAt) > sessionTouch {
		if err := account.TouchSession(ctx, i.DB, s.ID); err != nil {
			i.Log.WarnContext(ctx, "session not extended", slog.Any("error", err))
		}
	}
	i.keep(changes, func() {
		if len(i.sessions) >= cacheMost {
			clear(i.sessions)
		}
		i.sessions[hash] = fresh
	})
	return fresh.actor, nil
}

// keep puts into a cache what was read when i.changes was `changes`, unless something
// was forgotten since: it may have been just this, and what was read is from before.
func (i *Identity) keep(changes uint64, put func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.changes == changes {
		put()
	}
}

func (i *Identity) forgetSession(hash [32]byte) {
	i.mu.Lock()
	delete(i.sessions, hash)
	i.mu.Unlock()
}

// forgetPerson drops cached sessions of a person after a change of what they are.
func (i *Identity) forgetPerson(aid id.Participant) {
	i.mu.Lock()
	i.changes++
	for h, c := range i.sessions {
		if c.actor.ID == aid {
			delete(i.sessions, h)
		}
	}
	i.mu.Unlock()
}

// forgetAgent drops the cached agent after a change of key, name or state.
func (i *Identity) forgetAgent(aid id.Participant) {
	i.mu.Lock()
	i.changes++
	if c := i.agents[aid]; c != nil {
		delete(i.prefixes, c.KeyPrefix)
		delete(i.agents, aid)
	}
	i.mu.Unlock()
}

func (i *Identity) cacheAgent(changes uint64, a view.AgentIdentity) {
	i.keep(changes, func() {
		if len(i.agents) >= cacheMost {
			clear(i.agents)
			clear(i.prefixes)
		}
		i.agents[a.ID] = &a
		i.prefixes[a.KeyPrefix] = a.ID
	})
}

func (i *Identity) agentByID(ctx context.Context, aid id.Participant) (view.AgentIdentity, error) {
	i.mu.RLock()
	c, changes := i.agents[aid], i.changes
	i.mu.RUnlock()
	if c != nil {
		return *c, nil
	}
	a, err := view.AgentIdentityByID(ctx, i.DB, aid)
	if err != nil {
		return view.AgentIdentity{}, err
	}
	i.cacheAgent(changes, a)
	return a, nil
}

// agentByKey finds the active agent of an API key: one map look-up and one HMAC when cached.
func (i *Identity) agentByKey(ctx context.Context, key string) (view.AgentIdentity, error) {
	prefix, ok := agent.Lookup(key)
	if !ok {
		return view.AgentIdentity{}, fault.ErrUnauthenticated
	}
	i.mu.RLock()
	aid, hit := i.prefixes[prefix]
	changes := i.changes
	i.mu.RUnlock()
	var a view.AgentIdentity
	var err error
	if hit {
		a, err = i.agentByID(ctx, aid)
	} else if a, err = view.AgentIdentityByPrefix(ctx, i.DB, prefix); err == nil {
		i.cacheAgent(changes, a)
	}
	if err != nil {
		return view.AgentIdentity{}, orUnauthenticated(err)
	}
	for _, hk := range i.Ring.DeriveAll("agent key") {
		if subtle.ConstantTimeCompare(agent.HashKey(hk, key), a.KeyHash) == 1 && a.Status == participant.Active {
			return a, nil
		}
	}
	return view.AgentIdentity{}, fault.ErrUnauthenticated
}

func agentActor(a view.AgentIdentity) access.Actor {
	return access.Actor{Kind: access.Agent, ID: a.ID, OwnerID: a.OwnerID, OrganizationID: a.OrganizationID, KeyVersion: a.KeyVersion, DisplayName: a.DisplayName}
}

// ExchangeAgentKey trades a long-lived API key for a short-lived session token
// (W3, bridge 1.2). Only failures count towards the limit, and only failures meet
// it: the right key always passes, so that nobody who knows an agent's id, and no
// neighbour with a stale key behind the same address, can keep an agent away. A
// key cannot be guessed (ADR 9). A wrong key, a wrong agent and a deactivated
// agent look the same.
func (i *Identity) ExchangeAgentKey(ctx context.Context, agentID, key, address string) (token string, err error) {
	a, err := i.agentByKey(ctx, key)
	if err == nil && a.ID.String() != agentID {
		err = fault.ErrUnauthenticated
	}
	if err != nil {
		if fault.KindOf(err) == fault.Unauthenticated {
			return "", i.failedExchange(agentID, address)
		}
		return "", err
	}
	now := time.Now()
	// The version of the key is the token's id: a new key makes all older tokens worthless (decision 3).
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Issuer: tokenIssuer, Audience: jwt.ClaimStrings{tokenAudience}, Subject: a.ID.String(), ID: strconv.Itoa(a.KeyVersion),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(AgentTokenLife)),
	})
	return t.SignedString(i.Ring.Derive("agent token"))
}

// failedExchange counts a failure by agent and by client address (decision 4), not
// together with failed logins: a stale bridge must not keep its owner from signing in.
func (i *Identity) failedExchange(agentID, address string) error {
	buckets := []string{"exchange:" + agentID, "exchange address:" + limit.Origin(address)}
	if err := i.failedTooOften(buckets...); err != nil {
		return err
	}
	for _, k := range buckets {
		i.failures.Take(k)
	}
	return fault.ErrUnauthenticated
}

func (i *Identity) authenticateAgentToken(ctx context.Context, token string) (access.Actor, error) {
	var c jwt.RegisteredClaims
	var err error
	for _, k := range i.Ring.DeriveAll("agent token") {
		c = jwt.RegisteredClaims{}
		_, err = jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return k, nil },
			jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(tokenIssuer), jwt.WithAudience(tokenAudience), jwt.WithExpirationRequired())
		if !errors.Is(err, jwt.ErrTokenSignatureInvalid) {
			break
		}
	}
	if err != nil {
		return access.Actor{}, fault.ErrUnauthenticated
	}
	aid, err := id.Parse[id.Participant](c.Subject)
	if err != nil {
		return access.Actor{}, fault.ErrUnauthenticated
	}
	a, err := i.agentByID(ctx, aid)
	if err != nil {
		return access.Actor{}, orUnauthenticated(err)
	}
	if a.Status != participant.Active || strconv.Itoa(a.KeyVersion) != c.ID {
		return access.Actor{}, fault.ErrUnauthenticated
	}
	return agentActor(a), nil
}

// retireTx ends the work of an agent that goes.
func (i *Identity) retireTx(ctx context.Context, tx *pg.Tx, aid id.Participant) error {
	if err := agent.BumpKeyVersionTx(ctx, tx, aid); err != nil || i.Retire == nil {
		return err
	}
	return i.Retire(ctx, tx, aid)
}
