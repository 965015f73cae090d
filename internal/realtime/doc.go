// Package realtime is the bus: who listens on which topic, and how one event
// reaches all of them.
//
// It owns the encoding of an event into one shared frame, the registry of
// subscribers per topic and the order of events on a topic. It does not own
// sockets (package socket), the codec (package phx), who may join what or what
// an event looks like (package channel), nor anything that must survive a crash:
// an event is what a screen would like to know.
//
// Order: all subscribers of a topic see its broadcasts in one and the same
// order, the order in which Broadcast was entered when the caller serialises
// its calls. Nothing is promised between topics, and a reply to a client's own
// push may overtake a broadcast.
//
// The bus is for one process (decision 23).
package realtime
