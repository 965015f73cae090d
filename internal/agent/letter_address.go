package agent

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// maxLetterAddresses is how many addresses of an agent are remembered, the one in force included.
const maxLetterAddresses = 20

// LetterAddress is where an agent can be written to with encrypted letters: the public part of an identity that its bridge keeps.
type LetterAddress struct {
	Fingerprint string // the address: the hash of both keys
	IdentityKey string // base64 without padding
	SigningKey  string
	RelayURL    string
	Since       time.Time
	Until       *time.Time // nil for the one in force
}

// LetterAddresses are those of an agent, the newest first. What was replaced or taken away stays, so that people notice a change.
func LetterAddresses(ctx context.Context, q pg.Querier, aid id.Participant) ([]LetterAddress, error) {
	rows, err := q.Query(ctx, letterAddressesSQL, aid, maxLetterAddresses)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[LetterAddress])
}

// SetLetterAddressTx puts an address in force and says whether anything changed. The same keys at another relay are no change of
// the address; other keys end the one before. Calls for one agent wait for each other.
func SetLetterAddressTx(ctx context.Context, tx *pg.Tx, aid id.Participant, a LetterAddress) (changed bool, err error) {
	if _, err := tx.Exec(ctx, lockAgentSQL, aid); err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, endOtherAddressSQL, aid, a.Fingerprint)
	if err != nil {
		return false, err
	}
	changed = tag.RowsAffected() > 0
	if tag, err = tx.Exec(ctx, putAddressSQL, aid, a.Fingerprint, a.IdentityKey, a.SigningKey, a.RelayURL); err != nil {
		return false, err
	}
	changed = changed || tag.RowsAffected() > 0
	_, err = tx.Exec(ctx, trimAddressesSQL, aid, maxLetterAddresses)
	return changed, err
}

// EndLetterAddressTx takes the address away and says whether there was one.
func EndLetterAddressTx(ctx context.Context, tx *pg.Tx, aid id.Participant) (bool, error) {
	tag, err := tx.Exec(ctx, endAddressSQL, aid)
	return tag.RowsAffected() > 0, err
}
