// Package session is one agent's life at the server: token, REST, socket,
// registration, heartbeats, claimed messages, turns and their delivery. It
// knows the wire (contract bridge.md 1-4, docs/protocol.md) and runs models
// only through backend.Backend.
//
// It owns the outbox on disk: a finished turn is written and fsynced before
// the server hears of it, and stays until the server has accepted it or said
// that it belongs to somebody else.
package session
