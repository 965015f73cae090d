// Package connection owns the outside HTTP services that people let their agents
// call: the address, the sealed secret, the list of what may be called, and the
// agents that may. It makes no call.
package connection

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// The limits of what one person may keep.
const (
	MaxConnections = 50
	MaxOperations  = 100
)

// How a secret is sent.
const (
	None   = "none"
	Bearer = "bearer" // Authorization: Bearer
	Basic  = "basic"  // Authorization: Basic, the secret is user:password
	Header = "header" // a header of this name
	Query  = "query"  // a query parameter of this name
)

// Connection is one service, without its secret.
type Connection struct {
	ID          id.Connection
	OwnerID     id.Participant
	Name        string // how agents call it: crm
	Description string
	BaseURL     string
	AuthKind    string
	AuthName    string
	Fingerprint *string // of the secret
	Shared      bool    // also on behalf of others than its owner
	Enabled     bool
	InsertedAt  time.Time
	UpdatedAt   time.Time
	Operations  []Operation      `db:"-"`
	Agents      []id.Participant `db:"-"`
}

// Operation is something that may be called. A path has {names} for one segment each.
type Operation struct {
	Method      string
	Path        string
	Description string
	Ask         bool // a person has to allow every call
}

// Purpose binds a sealed secret to its row.
func Purpose(cid id.Connection) string { return "connection:" + cid.String() }

var (
	nameWord  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	authWord  = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
	segment   = regexp.MustCompile(`^(\{[a-z][a-z0-9_]*\}|[A-Za-z0-9._~!$&'()*+,;=:@-]+)$`)
	errFields = fault.New(fault.Invalid, "invalid", "This service cannot be stored.")
	methods   = map[string]bool{"GET": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true}
)

// Check says what is wrong with a service as somebody describes it; the address is
// checked by who calls it.
func (c Connection) Check() error {
	switch {
	case !nameWord.MatchString(c.Name):
		return errFields.With("name", "format", "Use small letters, digits and _, at most 40, beginning with a letter.")
	case utf8.RuneCountInString(c.Description) > 2000:
		return errFields.With("description", "too_long", "At most 2000 characters.")
	case c.AuthKind != None && c.AuthKind != Bearer && c.AuthKind != Basic && c.AuthKind != Header && c.AuthKind != Query:
		return errFields.With("auth.kind", "unknown", "Use none, bearer, basic, header or query.")
	case (c.AuthKind == Header || c.AuthKind == Query) && !authWord.MatchString(c.AuthName):
		return errFields.With("auth.name", "format", "Name the header or the parameter.")
	case len(c.Operations) == 0 || len(c.Operations) > MaxOperations:
		return errFields.With("operations", "count", fmt.Sprintf("Say what may be called: 1 to %d operations.", MaxOperations))
	}
	seen := map[string]bool{}
	for n, o := range c.Operations {
		field := fmt.Sprintf("operations.%d", n)
		switch {
		case !methods[o.Method]:
			return errFields.With(field+".method", "unknown", "Use GET, POST, PUT, PATCH or DELETE.")
		case len(o.Path) > 500 || !cleanPath(o.Path):
			return errFields.With(field+".path", "format", "A path is /like/this/{id}.")
		case utf8.RuneCountInString(o.Description) > 1000:
			return errFields.With(field+".description", "too_long", "At most 1000 characters.")
		case seen[o.Method+" "+o.Path]:
			return errFields.With(field, "twice", "This operation is there twice.")
		}
		seen[o.Method+" "+o.Path] = true
	}
	return nil
}

func cleanPath(p string) bool {
	if p == "/" {
		return true
	}
	if !strings.HasPrefix(p, "/") {
		return false
	}
	for s := range strings.SplitSeq(p[1:], "/") {
		if s == "." || s == ".." || !segment.MatchString(s) {
			return false
		}
	}
	return true
}

// Match finds the operation that allows a call. A path of plain segments is
// compared letter by letter: no dots, no escapes, no empty segments.
func (c Connection) Match(method, path string) (Operation, bool) {
	if !cleanPath(path) || strings.ContainsAny(path, "{}") {
		return Operation{}, false
	}
	got := strings.Split(path, "/")
	var found Operation
	ok := false
	for _, o := range c.Operations {
		want := strings.Split(o.Path, "/")
		if o.Method != method || len(want) != len(got) {
			continue
		}
		same := true
		for n, w := range want {
			same = same && (w == got[n] || strings.HasPrefix(w, "{"))
		}
		if same && (!ok || o.Ask) { // of two that fit, the stricter one
			found, ok = o, true
		}
	}
	return found, ok
}

// InsertTx stores a service with its operations and agents.
func InsertTx(ctx context.Context, tx *pg.Tx, c Connection, sealed []byte) error {
	var n int
	if err := tx.QueryRow(ctx, countSQL, c.OwnerID).Scan(&n); err != nil {
		return fmt.Errorf("count connections: %w", err)
	}
	if n >= MaxConnections {
		return fault.Newf(fault.Invalid, "too_many", "You can keep at most %d services. Delete one first.", MaxConnections)
	}
	_, err := tx.Exec(ctx, insertSQL, c.ID, c.OwnerID, c.Name, c.Description, c.BaseURL, c.AuthKind, c.AuthName, sealed, c.Fingerprint, c.Shared, c.Enabled)
	if err != nil {
		return taken(err)
	}
	return listsTx(ctx, tx, c)
}

// UpdateTx stores all of a service but its secret.
func UpdateTx(ctx context.Context, tx *pg.Tx, c Connection) error {
	tag, err := tx.Exec(ctx, updateSQL, c.ID, c.OwnerID, c.Name, c.Description, c.BaseURL, c.AuthName, c.Shared, c.Enabled)
	if err != nil {
		return taken(err)
	}
	if tag.RowsAffected() == 0 {
		return fault.ErrNotFound
	}
	return listsTx(ctx, tx, c)
}

// SealTx replaces how a service is signed in to; sealed is nil for None.
func SealTx(ctx context.Context, tx *pg.Tx, c Connection, sealed []byte) error {
	if _, err := tx.Exec(ctx, sealSQL, c.ID, c.OwnerID, c.AuthKind, sealed, c.Fingerprint); err != nil {
		return fmt.Errorf("seal connection: %w", err)
	}
	return nil
}

func taken(err error) error {
	if pg.IsUnique(err, "connections_owner_id_name_key") {
		return errFields.With("name", "taken", "Another of your services has this name.")
	}
	return fmt.Errorf("store connection: %w", err)
}

func listsTx(ctx context.Context, tx *pg.Tx, c Connection) error {
	if _, err := tx.Exec(ctx, clearOperationsSQL, c.ID); err != nil {
		return fmt.Errorf("store operations: %w", err)
	}
	for _, o := range c.Operations {
		if _, err := tx.Exec(ctx, insertOperationSQL, c.ID, o.Method, o.Path, o.Description, o.Ask); err != nil {
			return fmt.Errorf("store operations: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, clearAgentsSQL, c.ID); err != nil {
		return fmt.Errorf("store agents: %w", err)
	}
	if _, err := tx.Exec(ctx, insertAgentsSQL, c.ID, id.Strings(c.Agents)); err != nil {
		return fmt.Errorf("store agents: %w", err)
	}
	return nil
}

// DeleteTx forgets a service.
func DeleteTx(ctx context.Context, tx *pg.Tx, owner id.Participant, cid id.Connection) error {
	tag, err := tx.Exec(ctx, deleteSQL, cid, owner)
	if err != nil {
		return fmt.Errorf("delete connection: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.ErrNotFound
	}
	return nil
}

// OfOwner lists a person's services by name.
func OfOwner(ctx context.Context, q pg.Querier, owner id.Participant) ([]Connection, error) {
	return list(ctx, q, ofOwnerSQL, owner)
}

// OfAgent lists the enabled services that an agent may call, by name.
func OfAgent(ctx context.Context, q pg.Querier, agent id.Participant) ([]Connection, error) {
	return list(ctx, q, ofAgentSQL, agent)
}

// Get is one of a person's services.
func Get(ctx context.Context, q pg.Querier, owner id.Participant, cid id.Connection) (Connection, error) {
	all, err := list(ctx, q, getSQL, owner, cid)
	if err == nil && len(all) == 0 {
		err = fault.ErrNotFound
	}
	if err != nil {
		return Connection{}, err
	}
	return all[0], nil
}

// CountFor counts the enabled services that an agent may call.
func CountFor(ctx context.Context, q pg.Querier, agent id.Participant) (n int, err error) {
	if err := q.QueryRow(ctx, countForSQL, agent).Scan(&n); err != nil {
		return 0, fmt.Errorf("count connections: %w", err)
	}
	return n, nil
}

// errChanged is the answer to who has read a service before it was changed.
var errChanged = fault.New(fault.Conflict, "service_changed", "This service was changed in this moment: look at list_apis and call it again.")

// Sealed reads the sealed secret of a service as it was read; nil when it needs none.
// A Conflict when it has changed since: a new secret must not go to the old server.
func Sealed(ctx context.Context, q pg.Querier, c Connection) (sealed []byte, err error) {
	err = q.QueryRow(ctx, sealedSQL, c.ID, c.BaseURL, c.AuthKind, c.AuthName).Scan(&sealed)
	switch {
	case pg.IsNotFound(err):
		return nil, errChanged
	case err != nil:
		return nil, fmt.Errorf("read sealed secret: %w", err)
	}
	return sealed, nil
}

func list(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Connection, error) {
	out, err := pg.Rows[Connection](ctx, q, "list connections", sql, args...)
	if err != nil {
		return nil, err
	}
	at, ids := map[id.Connection]*Connection{}, make([]id.Connection, len(out))
	for n := range out {
		at[out[n].ID], ids[n] = &out[n], out[n].ID
	}
	if len(out) == 0 {
		return out, nil
	}
	var cid id.Connection
	var o Operation
	rows, err := q.Query(ctx, operationsSQL, id.Strings(ids))
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&cid, &o.Method, &o.Path, &o.Description, &o.Ask}, func() error {
			at[cid].Operations = append(at[cid].Operations, o)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}
	var agent id.Participant
	if rows, err = q.Query(ctx, agentsSQL, id.Strings(ids)); err == nil {
		_, err = pgx.ForEachRow(rows, []any{&cid, &agent}, func() error {
			at[cid].Agents = append(at[cid].Agents, agent)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list agents of connections: %w", err)
	}
	return out, nil
}
