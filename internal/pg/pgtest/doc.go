// Package pgtest gives tests a real Postgres: DB is an own database, cloned from a
// migrated template in about 20 ms, for tests that commit; Tx is a transaction
// that is rolled back, for tests of queries. It owns the shared test server; it
// has no fixtures (docs/testing.md).
//
// All test binaries of one `go test` share one server on a RAM disk. It is started
// by the first, lives as long as any of them, and removes itself a minute after the
// last has ended. It is not in UTC, so that code which depends on the server's
// time zone fails.
//
// Environment: AGNTCHAT_TEST_PG is "direct" (default), "pooler" (through a real
// pgbouncer in transaction mode) or "exec" (pgx exec mode). With
// AGNTCHAT_TEST_DATABASE_URL (a superuser's address) no server is started.
package pgtest
