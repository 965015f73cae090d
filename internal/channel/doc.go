// Package channel is the socket edge: one file per topic family, and the encoders
// that turn events into frames. A handler decodes, asks access through the use
// case it calls, calls one function, and encodes. It owns what is only live
// (typing, who is online) and the registry of who has joined which room; it has
// no SQL and no rules of its own.
//
// Topics: user:<id>, the private topic of a person or an agent, and
// conversation:<id>, a room. An agent's user topic joined with an executor_id is
// a bridge's and belongs to gateway.go.
package channel
