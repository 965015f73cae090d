package pg

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// registerTypes makes times come back in UTC whatever the machine's zone is, and
// lets typed identifiers travel as sixteen bytes.
func registerTypes(c *pgx.Conn) {
	m := c.TypeMap()
	m.RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	t := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: idCodec{}}
	m.RegisterType(t)
	m.RegisterType(&pgtype.Type{Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: t}})
}

// idCodec is pgx's codec for uuid that knows our identifiers. Without it they go
// the way of any database/sql value, by text and by trial and error: a tenth of
// what a post costs the server.
type idCodec struct{ pgtype.UUIDCodec }

// identifier is every id.ID.
type identifier interface {
	UUID() uuid.UUID
	IsZero() bool
}

// PlanEncode implements pgtype.Codec.
func (c idCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(identifier); ok && format == pgtype.BinaryFormatCode {
		return encodeID{}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

// PlanScan implements pgtype.Codec.
func (c idCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(identifierTarget); ok && format == pgtype.BinaryFormatCode {
		return scanID{}
	}
	return c.UUIDCodec.PlanScan(m, oid, format, target)
}

type encodeID struct{}

func (encodeID) Encode(value any, buf []byte) ([]byte, error) {
	i, ok := value.(identifier)
	if !ok {
		return nil, fmt.Errorf("encode %T as an identifier", value)
	}
	if i.IsZero() {
		return nil, nil // NULL
	}
	u := i.UUID()
	return append(buf, u[:]...), nil
}

// identifierTarget is every *id.ID; its Scan takes the sixteen bytes.
type identifierTarget interface {
	identifier
	Scan(src any) error
}

type scanID struct{}

func (scanID) Scan(src []byte, dst any) error {
	i, ok := dst.(identifierTarget)
	switch {
	case !ok:
		return fmt.Errorf("scan an identifier into %T", dst)
	case src == nil:
		return i.Scan(nil)
	case len(src) != 16:
		return fmt.Errorf("an identifier of %d bytes", len(src))
	}
	return i.Scan(src)
}
