package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// SessionLife is how long a sign-in lasts without use; use extends it. There is
// no refresh in the clients, so it is long (desktop 2.1).
const SessionLife = 90 * 24 * time.Hour

// TokenPrefix marks a person's session token.
const TokenPrefix = "hs_"

// Session is one sign-in.
type Session struct {
	ID         id.Session
	AccountID  id.Participant
	UserAgent  string
	Address    string
	InsertedAt time.Time
	LastSeenAt time.Time
	ExpiresAt  time.Time
}

// NewToken makes a random secret with a prefix and the hash that is stored.
func NewToken(prefix string) (token string, hash []byte) {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	token = prefix + base64.RawURLEncoding.EncodeToString(b)
	return token, HashToken(token)
}

// HashToken is the stored form: the secret has 256 random bits, so a plain hash suffices.
func HashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// InsertSessionTx signs a person in and returns the token, shown once.
func InsertSessionTx(ctx context.Context, tx *pg.Tx, aid id.Participant, userAgent, address string) (token string, s Session, err error) {
	token, hash := NewToken(TokenPrefix)
	rows, err := tx.Query(ctx, insertSessionSQL, aid, hash, clip(userAgent, 300), clip(address, 64), SessionLife.Seconds())
	if err != nil {
		return "", Session{}, err
	}
	s, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Session])
	return token, s, err
}

// FindSession looks a token up; fault.ErrUnauthenticated when unknown or over.
func FindSession(ctx context.Context, q pg.Querier, hash []byte) (Session, error) {
	rows, err := q.Query(ctx, findSessionSQL, hash)
	if err != nil {
		return Session{}, err
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Session])
	if pg.IsNotFound(err) {
		return Session{}, fault.ErrUnauthenticated
	}
	return s, err
}

// TouchSession extends a session in use. Call it seldom: it writes.
func TouchSession(ctx context.Context, q pg.Querier, sid id.Session) error {
	_, err := q.Exec(ctx, touchSessionSQL, sid, SessionLife.Seconds())
	return err
}

// ListSessions reads a person's live sign-ins, newest first.
func ListSessions(ctx context.Context, q pg.Querier, aid id.Participant) ([]Session, error) {
	rows, err := q.Query(ctx, listSessionsSQL, aid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Session])
}

// DeleteSessionTx revokes one sign-in of a person; fault.ErrNotFound when it is not theirs.
func DeleteSessionTx(ctx context.Context, tx *pg.Tx, aid id.Participant, sid id.Session) error {
	tag, err := tx.Exec(ctx, deleteSessionSQL, aid, sid)
	if err == nil && tag.RowsAffected() == 0 {
		return fault.ErrNotFound
	}
	return err
}

// DeleteOtherSessionsTx revokes all sign-ins but one and returns the revoked ids.
func DeleteOtherSessionsTx(ctx context.Context, tx *pg.Tx, aid id.Participant, keep id.Session) ([]id.Session, error) {
	rows, err := tx.Query(ctx, deleteOtherSessionsSQL, aid, keep)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[id.Session])
}

// InsertCodeTx makes a one-time code that signs a person in.
func InsertCodeTx(ctx context.Context, tx *pg.Tx, aid id.Participant, life time.Duration) (string, error) {
	code, hash := NewToken("otc_")
	_, err := tx.Exec(ctx, insertCodeSQL, hash, aid, life.Seconds())
	return code, err
}

// SpendCodeTx uses a one-time code up; a code that is unknown, used or old is Invalid, never 401.
func SpendCodeTx(ctx context.Context, tx *pg.Tx, code string) (id.Participant, error) {
	var aid id.Participant
	err := tx.QueryRow(ctx, spendCodeSQL, HashToken(code)).Scan(&aid)
	if pg.IsNotFound(err) {
		return id.Participant{}, fault.New(fault.Invalid, "code_invalid", "This link was used or is too old. Sign in instead.")
	}
	return aid, err
}

func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return toValid(s)
}
