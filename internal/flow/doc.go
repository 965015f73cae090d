// Package flow holds the writes across domains, one use case a file, without
// SQL: Identity (who is who), Chat (rooms and messages), Gateway (executors,
// claims and turns). Each use case authorises its Actor, runs one transaction,
// and publishes what happened.
package flow
