// Package apptest runs the whole server for tests: New in the test's own process
// on a database of its own, Processes as the real programs (agntchat, Postgres,
// agnt) that a test can kill. It owns no assertion about a feature.
package apptest
