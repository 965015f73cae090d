package approval

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Fulfilled is the state of a credential request whose secret was given; the others are those of an approval.
const Fulfilled State = "fulfilled"

// Limits of credential requests.
const (
	CredentialLife   = 7 * 24 * time.Hour
	MaxSecret        = 16 << 10 // bytes
	maxOpenSecrets   = 20
	maxEndpoint      = 2000
	maxHeader        = 100
	DefaultAuth      = "bearer"
	authHeader       = "header"
	credentialPrefix = "requested_credential:"
)

// Credential is one question for a secret. The secret is not in it.
type Credential struct {
	ID             id.CredentialRequest
	OrganizationID id.Organization
	AgentID        id.Participant
	OwnerID        id.Participant
	ConversationID id.Conversation
	TaskID         id.Task
	Label          string
	Reason         string
	Endpoint       *string // https://host[/path]: what it may be used for
	AuthMode       *string // bearer | header | basic
	AuthHeader     *string // the header's name, for header
	Status         State   // pending | fulfilled | denied | expired
	CredentialID   id.Credential
	Fingerprint    *string
	ResolvedAt     *time.Time
	LastUsedAt     *time.Time
	Uses           int64
	ExpiresAt      time.Time
	InsertedAt     time.Time
	Overdue        bool
}

// NewCredential is what an agent says of the secret that it needs.
type NewCredential struct {
	OrganizationID id.Organization
	AgentID        id.Participant
	OwnerID        id.Participant
	ConversationID id.Conversation
	TaskID         id.Task
	Label          string
	Reason         string
	Endpoint       string
	AuthMode       string
	AuthHeader     string
}

// Check cleans the request; a fault names what is wrong.
func (n *NewCredential) Check() error {
	bad := fault.New(fault.Invalid, "invalid_arguments", "The credential cannot be asked for like this.")
	n.Label, n.Reason = strings.TrimSpace(n.Label), strings.TrimSpace(n.Reason)
	if c := utf8.RuneCountInString(n.Label); c == 0 || c > MaxName {
		return bad.With("label", "length", "1 to 200 characters")
	}
	if utf8.RuneCountInString(n.Reason) > MaxText {
		return bad.With("reason", "too_long", "at most 2000 characters")
	}
	if n.AuthMode == "" {
		n.AuthMode = DefaultAuth
	}
	if n.AuthMode != DefaultAuth && n.AuthMode != authHeader && n.AuthMode != "basic" {
		return bad.With("auth_mode", "unknown", "bearer, header or basic")
	}
	if (n.AuthMode == authHeader) != (n.AuthHeader != "") || len(n.AuthHeader) > maxHeader || !token(n.AuthHeader) {
		return bad.With("auth_header", "invalid", "the name of the header, for auth_mode header only")
	}
	u, err := url.Parse(n.Endpoint)
	if err != nil || len(n.Endpoint) > maxEndpoint || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return bad.With("endpoint", "invalid", "https://host or https://host/path, where the credential is to be used")
	}
	return nil
}

func token(s string) bool {
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Purpose binds a sealed secret to its request.
func (c Credential) Purpose() string { return credentialPrefix + c.ID.String() }

// AskCredentialTx stores a request. fault.Exhausted when too many are open.
func AskCredentialTx(ctx context.Context, tx *pg.Tx, n NewCredential) (Credential, error) {
	var open int
	if err := tx.QueryRow(ctx, queryCountCredentials, n.AgentID).Scan(&open); err != nil {
		return Credential{}, fmt.Errorf("count credential requests: %w", err)
	}
	if open >= maxOpenSecrets {
		return Credential{}, ErrTooMany
	}
	return mustCredential(credentials(ctx, tx, queryAskCredential, id.New[id.CredentialRequest](), n.OrganizationID, n.AgentID, n.OwnerID, n.ConversationID, n.TaskID,
		n.Label, n.Reason, null(n.Endpoint), null(n.AuthMode), null(n.AuthHeader), CredentialLife.Seconds()))
}

// LockCredentialTx reads and locks a request; fault.ErrNotFound when there is none.
func LockCredentialTx(ctx context.Context, tx *pg.Tx, c id.CredentialRequest) (Credential, error) {
	return mustCredential(credentials(ctx, tx, queryLockCredential, c))
}

// FulfilTx stores the sealed secret of a locked request. ErrDecided when it is not
// open any more, ErrExpired when its time is over.
func FulfilTx(ctx context.Context, tx *pg.Tx, c Credential, sealed []byte, fingerprint string) (Credential, error) {
	if err := c.open(); err != nil {
		return Credential{}, err
	}
	return resolveTx(ctx, tx, c, Fulfilled, id.New[id.Credential](), sealed, fingerprint)
}

// DeclineTx ends a locked request without a secret; as FulfilTx.
func DeclineTx(ctx context.Context, tx *pg.Tx, c Credential) (Credential, error) {
	if err := c.open(); err != nil {
		return Credential{}, err
	}
	return resolveTx(ctx, tx, c, Denied, nil, nil, nil)
}

func (c Credential) open() error {
	switch {
	case c.Status == Expired || c.Overdue:
		return ErrExpired
	case c.Status != Pending:
		return ErrDecided
	}
	return nil
}

// resolveTx ends a locked request: only its time can keep it from that.
func resolveTx(ctx context.Context, tx *pg.Tx, c Credential, to State, secret ...any) (Credential, error) {
	all, err := credentials(ctx, tx, queryResolveCredential, append([]any{c.ID, string(to)}, secret...)...)
	if err == nil && len(all) == 0 {
		return Credential{}, ErrExpired
	}
	return mustCredential(all, err)
}

// ExpireCredentialsTx ends up to limit requests whose time is over.
func ExpireCredentialsTx(ctx context.Context, tx *pg.Tx, limit int) ([]Credential, error) {
	due, err := credentials(ctx, tx, queryDueCredentials, limit)
	if err != nil {
		return nil, err
	}
	for n, c := range due {
		if due[n], err = resolveTx(ctx, tx, c, Expired, nil, nil, nil); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// Sealed is a secret on its way to the one place where it is used.
type Sealed struct {
	ID         id.CredentialRequest
	Sealed     []byte
	Endpoint   *string
	AuthMode   *string
	AuthHeader *string
}

// Purpose is that of its request.
func (s Sealed) Purpose() string { return credentialPrefix + s.ID.String() }

// SealedCredential reads a secret for the agent that asked for it, and counts the
// use; fault.ErrNotFound for any other agent, and when it was taken away.
func SealedCredential(ctx context.Context, q pg.Querier, agent id.Participant, c id.Credential) (Sealed, error) {
	rows, err := q.Query(ctx, querySealedCredential, c, agent)
	if err != nil {
		return Sealed{}, fmt.Errorf("read credential: %w", err)
	}
	out, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Sealed])
	switch {
	case pg.IsNotFound(err):
		return Sealed{}, fault.ErrNotFound
	case err != nil:
		return Sealed{}, fmt.Errorf("read credential: %w", err)
	}
	return out, nil
}

// ForgetCredentialTx takes a secret away again; fault.ErrNotFound when this person
// gave no such one.
func ForgetCredentialTx(ctx context.Context, tx *pg.Tx, c id.CredentialRequest, owner id.Participant) error {
	tag, err := tx.Exec(ctx, queryForgetCredential, c, owner)
	switch {
	case err != nil:
		return fmt.Errorf("forget credential: %w", err)
	case tag.RowsAffected() == 0:
		return fault.ErrNotFound
	}
	return nil
}

// ForgetCredentialsTx takes every secret of an agent away.
func ForgetCredentialsTx(ctx context.Context, tx *pg.Tx, agent id.Participant) error {
	if _, err := tx.Exec(ctx, queryForgetCredentials, agent); err != nil {
		return fmt.Errorf("forget credentials: %w", err)
	}
	return nil
}

func credentials(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Credential, error) {
	return pg.Rows[Credential](ctx, q, "credential request", sql, args...)
}

func mustCredential(all []Credential, err error) (Credential, error) {
	switch {
	case err != nil:
		return Credential{}, err
	case len(all) == 0:
		return Credential{}, fault.ErrNotFound
	}
	return all[0], nil
}
