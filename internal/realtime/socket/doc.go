// Package socket is the transport of Phoenix Channels over WebSockets: upgrade,
// framing, joins and leaves, pushes and replies, heartbeats, slow readers,
// limits and a drain that loses nothing that was already accepted.
//
// It does not know our topics or events (package channel gives it a Router), who
// may see what (Authenticator and Channel decide), nor how events reach many
// subscribers (package realtime).
//
// # Order and blocking
//
// Each connection has one reader goroutine and, while nothing waits, no writer:
// whoever has a frame writes it without waiting, and only a rest that the kernel
// does not take starts a goroutine that lives until the queue is empty. The
// calls of one topic of one connection run one after the other, in the order in
// which the client sent them, in a goroutine that exists while there is work;
// topics do not wait for each other, and heartbeats wait for nobody.
//
// Between Subscribe and the end of Joined.Joined the topic's broadcasts are held
// back, so that a client sees: the reply to its join, what Joined pushed (its
// snapshot), then every event since.
//
// # Close codes
//
//	1001  idle, or anything that asked for 1000: a client never reconnects after 1000
//	1003  binary frame
//	1007  not UTF-8, or not [join_ref, ref, topic, event, payload]
//	1008  floods, or a session that was revoked
//	1009  frame above the limit
//	1012  the server restarts
//	1013  the reader is too slow: reconnect and refetch
package socket
