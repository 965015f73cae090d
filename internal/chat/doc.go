// Package chat owns rooms and what is said in them: the tables conversations,
// conversation_members, messages and conversation_changes. They are one package
// because they share one invariant: every change of a room happens under the
// lock of its conversations row, which hands out the version (the `seq` of
// events, decision 20), the dense number and the strictly increasing time of a
// message.
//
// It does not decide who may do what (access), who is woken (speak), what an
// agent works on (turn), nor how anything looks on the wire (present).
package chat
