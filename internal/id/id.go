// Package id gives every kind of row its own identifier type, so that a wrong id
// does not compile. All are random UUIDs (version 4), on the wire and in Postgres.
package id

import (
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"
)

// ID is a UUID that belongs to rows of kind K. Its zero value is "none".
type ID[K kind] struct{ u uuid.UUID }

type kind interface{ kindName() string }

type (
	participantKind  struct{}
	organizationKind struct{}
	conversationKind struct{}
	messageKind      struct{}
	executorKind     struct{}
	queueItemKind    struct{}
	turnKind         struct{}
	sessionKind      struct{}
	credentialKind   struct{}
	taskKind         struct{}
	askKind          struct{}
	queryKind        struct{}
	scopeKind        struct{}
	approvalKind     struct{}
	grantKind        struct{}
	requestKind      struct{}
	fileKind         struct{}
	connectionKind   struct{}
	externalKind     struct{}
	inviteKind       struct{}
	memoryKind       struct{}
	memberKind       struct{}
	budgetKind       struct{}
)

func (participantKind) kindName() string  { return "participant" }
func (organizationKind) kindName() string { return "organization" }
func (conversationKind) kindName() string { return "conversation" }
func (messageKind) kindName() string      { return "message" }
func (executorKind) kindName() string     { return "executor" }
func (queueItemKind) kindName() string    { return "queue item" }
func (turnKind) kindName() string         { return "turn" }
func (sessionKind) kindName() string      { return "session" }
func (credentialKind) kindName() string   { return "credential" }
func (taskKind) kindName() string         { return "task" }
func (askKind) kindName() string          { return "question" }
func (queryKind) kindName() string        { return "agent query" }
func (scopeKind) kindName() string        { return "scope request" }
func (grantKind) kindName() string        { return "grant" }
func (requestKind) kindName() string      { return "credential request" }
func (approvalKind) kindName() string     { return "approval" }
func (fileKind) kindName() string         { return "file" }
func (connectionKind) kindName() string   { return "connection" }
func (externalKind) kindName() string     { return "external session" }
func (inviteKind) kindName() string       { return "invite" }
func (memoryKind) kindName() string       { return "memory" }
func (memberKind) kindName() string       { return "member request" }
func (budgetKind) kindName() string       { return "budget stop" }

// Identifiers, one type for each kind of row.
type (
	// Participant is shared by people and agents (decision 1).
	Participant = ID[participantKind]
	// Organization identifies a workspace.
	Organization = ID[organizationKind]
	// Conversation identifies a room.
	Conversation = ID[conversationKind]
	// Message identifies a message.
	Message = ID[messageKind]
	// Executor identifies a bridge process of an agent.
	Executor = ID[executorKind]
	// QueueItem identifies a row of a queue table.
	QueueItem = ID[queueItemKind]
	// Turn identifies a finished turn.
	Turn = ID[turnKind]
	// Session identifies a person's sign-in.
	Session = ID[sessionKind]
	// Credential identifies a stored key.
	Credential = ID[credentialKind]
	// Task identifies a task.
	Task = ID[taskKind]
	// Ask identifies a question of a run to people.
	Ask = ID[askKind]
	// Query identifies a question of the server to an agent's model.
	Query = ID[queryKind]
	// Scope identifies a request to word a task.
	Scope = ID[scopeKind]
	// Approval identifies a request that a person has to decide.
	Approval = ID[approvalKind]
	// File identifies a stored file.
	File = ID[fileKind]
	// Grant identifies a standing yes of a person to an agent.
	Grant = ID[grantKind]
	// CredentialRequest identifies an agent's question for a secret.
	CredentialRequest = ID[requestKind]
	// Connection identifies an outside service that agents may call.
	Connection = ID[connectionKind]
	// ExternalSession identifies a CLI session that a person drives.
	ExternalSession = ID[externalKind]
	// Invite identifies the right to become an agent.
	Invite = ID[inviteKind]
	// Memory identifies something that is remembered, by one agent or by its family.
	Memory = ID[memoryKind]
	// MemberRequest identifies an agent's question to let somebody into a room.
	MemberRequest = ID[memberKind]
	// BudgetStop identifies the day on which an agent had no tokens left.
	BudgetStop = ID[budgetKind]
)

// New makes a random identifier: id.New[id.Message]().
func New[T interface{ fresh() T }]() T {
	var zero T
	return zero.fresh()
}

//nolint:unused // New calls it through its constraint
func (ID[K]) fresh() ID[K] { return ID[K]{uuid.New()} }

// Parseable is every ID, for functions over any kind of them.
type Parseable[T any] interface{ parse(string) (T, error) }

// Parse reads the canonical form. The error names the kind and not the input.
func Parse[T Parseable[T]](s string) (T, error) {
	var zero T
	return zero.parse(s)
}

func (ID[K]) parse(s string) (ID[K], error) {
	u, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		var k K
		return ID[K]{}, fmt.Errorf("not a %s id", k.kindName())
	}
	return ID[K]{u}, nil
}

// From makes a typed identifier of a raw UUID.
func From[T interface{ from(uuid.UUID) T }](u uuid.UUID) T {
	var zero T
	return zero.from(u)
}

//nolint:unused // From calls it through its constraint
func (ID[K]) from(u uuid.UUID) ID[K] { return ID[K]{u} }

// String is the canonical 36-character form.
func (i ID[K]) String() string { return i.u.String() }

// UUID is the raw value.
func (i ID[K]) UUID() uuid.UUID { return i.u }

// IsZero reports "none".
func (i ID[K]) IsZero() bool { return i.u == uuid.Nil }

// MarshalText makes JSON strings.
func (i ID[K]) MarshalText() ([]byte, error) { return i.u.MarshalText() }

// UnmarshalText reads JSON strings.
func (i *ID[K]) UnmarshalText(b []byte) error {
	v, err := (ID[K]{}).parse(string(b))
	if err != nil {
		return err
	}
	*i = v
	return nil
}

// Scan reads a uuid column. NULL becomes the zero value.
func (i *ID[K]) Scan(src any) error {
	if src == nil {
		*i = ID[K]{}
		return nil
	}
	return i.u.Scan(src)
}

// Value writes a uuid column; the zero value becomes NULL.
func (i ID[K]) Value() (driver.Value, error) {
	if i.IsZero() {
		return nil, nil
	}
	return i.u.String(), nil
}

// Strings turns ids into text for `$1::uuid[]` parameters, which work in every
// pgx exec mode.
func Strings[K kind](ids []ID[K]) []string {
	out := make([]string, len(ids))
	for n, i := range ids {
		out[n] = i.String()
	}
	return out
}
