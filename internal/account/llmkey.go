package account

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// MaxKeys is how many model keys one person may keep.
const MaxKeys = 50

// LLMKey is a stored model provider key without its secret.
type LLMKey struct {
	ID              id.Credential
	AccountID       id.Participant
	Provider        string
	Label           string
	Fingerprint     string
	IsDefault       bool
	Status          string
	LastValidatedAt *time.Time
	InsertedAt      time.Time
	UpdatedAt       time.Time
}

// KeyPurpose binds a sealed key to its row.
func KeyPurpose(kid id.Credential) string { return "llm_key:" + kid.String() }

// InsertKeyTx stores a sealed key. The first of a provider is the default; makeDefault moves it.
func InsertKeyTx(ctx context.Context, tx *pg.Tx, k LLMKey, sealed []byte, makeDefault bool) (LLMKey, error) {
	var all, same int
	if err := tx.QueryRow(ctx, countKeysSQL, k.AccountID, k.Provider).Scan(&all, &same); err != nil {
		return LLMKey{}, err
	}
	if all >= MaxKeys {
		return LLMKey{}, fault.Newf(fault.Invalid, "too_many", "You can keep at most %d keys. Delete one first.", MaxKeys)
	}
	isDefault := makeDefault || same == 0
	if isDefault {
		if _, err := tx.Exec(ctx, clearDefaultKeySQL, k.AccountID, k.Provider); err != nil {
			return LLMKey{}, err
		}
	}
	rows, err := tx.Query(ctx, insertKeySQL, k.ID, k.AccountID, k.Provider, k.Label, sealed, k.Fingerprint, isDefault)
	if err != nil {
		return LLMKey{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[LLMKey])
}

// ListKeys reads a person's keys, oldest first.
func ListKeys(ctx context.Context, q pg.Querier, aid id.Participant) ([]LLMKey, error) {
	rows, err := q.Query(ctx, listKeysSQL, aid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[LLMKey])
}

// PatchKeyTx changes the label or replaces the sealed secret (nil = unchanged).
func PatchKeyTx(ctx context.Context, tx *pg.Tx, aid id.Participant, kid id.Credential, label *string, sealed []byte, fingerprint *string) (LLMKey, error) {
	rows, err := tx.Query(ctx, patchKeySQL, aid, kid, label, sealed, fingerprint)
	if err != nil {
		return LLMKey{}, err
	}
	return oneKey(rows)
}

// SetDefaultKeyTx makes one key the provider's default.
func SetDefaultKeyTx(ctx context.Context, tx *pg.Tx, aid id.Participant, kid id.Credential) (LLMKey, error) {
	if _, err := tx.Exec(ctx, clearDefaultOfSameSQL, aid, kid); err != nil {
		return LLMKey{}, err
	}
	rows, err := tx.Query(ctx, setDefaultKeySQL, aid, kid)
	if err != nil {
		return LLMKey{}, err
	}
	return oneKey(rows)
}

// DeleteKeyTx forgets a key; the provider's oldest remaining one becomes the default.
func DeleteKeyTx(ctx context.Context, tx *pg.Tx, aid id.Participant, kid id.Credential) error {
	var provider string
	var wasDefault bool
	err := tx.QueryRow(ctx, deleteKeySQL, aid, kid).Scan(&provider, &wasDefault)
	if pg.IsNotFound(err) {
		return fault.ErrNotFound
	}
	if err != nil || !wasDefault {
		return err
	}
	_, err = tx.Exec(ctx, promoteKeySQL, aid, provider)
	return err
}

// SealedKey reads the sealed secret of one key, or with a zero kid of the provider's default.
func SealedKey(ctx context.Context, q pg.Querier, aid id.Participant, provider string, kid id.Credential) (id.Credential, []byte, error) {
	var found id.Credential
	var sealed []byte
	err := q.QueryRow(ctx, sealedKeySQL, aid, provider, kid).Scan(&found, &sealed)
	if pg.IsNotFound(err) {
		return id.Credential{}, nil, fault.New(fault.NotFound, "no_key", "No key of this provider is stored.")
	}
	return found, sealed, err
}

func oneKey(rows pgx.Rows) (LLMKey, error) {
	k, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[LLMKey])
	if pg.IsNotFound(err) {
		return LLMKey{}, fault.ErrNotFound
	}
	return k, err
}
