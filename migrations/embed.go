// Package migrations embeds the schema's migrations: NNNNNN_verb_noun.{up,down}.sql,
// each naming the domain that owns its tables. Once landed they only go forward.
// internal/pg applies them; nothing else reads them.
package migrations

import "embed"

// FS holds the migration files at its root.
//
//go:embed *.sql
var FS embed.FS
