// Package executor owns the rows of executors: the processes (bridges) through
// which an agent works. It does not own what they hold (turn), their sockets or
// who is reachable right now (flow.Gateway keeps that in memory and rebuilds it
// from these rows).
//
// A row belongs to (agent, executor_key) and keeps its id for ever: a bridge
// registers once per process and uses the id across socket drops and server
// restarts (bridge contract 2.13).
package executor

import (
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
)

// The states of a row. Disabled is set by health/reset and ends with the next registration.
const (
	Online   = "online"
	Offline  = "offline"
	Disabled = "disabled"
)

// ErrUnknown is the answer to an id that this agent does not have.
var ErrUnknown = fault.New(fault.NotFound, "executor_not_found", "There is no such executor.")

// Executor is one row. LastSeenAt is the last sign of life over HTTP or socket.
type Executor struct {
	ID            id.Executor     `db:"id"`
	AgentID       id.Participant  `db:"agent_id"`
	Key           string          `db:"executor_key"`
	DisplayName   string          `db:"display_name"`
	Capabilities  []string        `db:"capabilities"`
	MaxConcurrent int             `db:"max_concurrent"`
	InstanceID    string          `db:"instance_id"`
	BridgeVersion string          `db:"bridge_version"`
	Ours          bool            `db:"ours"`
	DeviceName    *string         `db:"device_name"`
	BackendHealth json.RawMessage `db:"backend_health"`
	Metrics       json.RawMessage `db:"metrics"`
	Status        string          `db:"status"`
	LastSeenAt    time.Time       `db:"last_seen_at"`
	RegisteredAt  time.Time       `db:"registered_at"`
}

// Registration is what a bridge says about itself when it starts.
type Registration struct {
	AgentID        id.Participant
	Key            string
	DisplayName    string
	Capabilities   []string
	ConnectionType string
	MaxConcurrent  int // below 1 becomes 1, above MaxSlots becomes MaxSlots
	InstanceID     string
	BridgeVersion  string
	Ours           bool
	DeviceName     *string
	Metadata       json.RawMessage
	BackendHealth  json.RawMessage
	Resumable      []string // tasks whose run survived the previous process; not stored
}

// MaxSlots bounds max_concurrent.
const MaxSlots = 64

// Beat is a heartbeat. Empty fields leave what is stored.
type Beat struct {
	BridgeVersion string
	BackendHealth json.RawMessage
	Metrics       json.RawMessage
}

func (r Registration) check() error {
	bad := fault.New(fault.Invalid, "invalid", "The registration is not complete.")
	switch {
	case r.Key == "":
		return bad.With("executor_key", "required", "must not be empty")
	case len(r.Key) > 200:
		return bad.With("executor_key", "too_long", "may have at most 200 characters")
	case len(r.InstanceID) > 200:
		return bad.With("instance_id", "too_long", "may have at most 200 characters")
	case len(r.Metadata) > 64<<10:
		return bad.With("metadata", "too_large", "may have at most 64 KiB")
	case len(r.Capabilities) > 200:
		return bad.With("capabilities", "too_many", "may have at most 200 entries")
	}
	return nil
}
