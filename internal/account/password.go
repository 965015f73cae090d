package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"

	"github.com/agntchat/agntchat/internal/fault"
)

// Hasher hashes passwords with argon2id (RFC 9106) in bounded parallelism: each
// hash takes MemoryKiB of memory and tens of milliseconds of one core.
type Hasher struct {
	MemoryKiB uint32
	Passes    uint32
	slots     *semaphore.Weighted
	dummy     string
}

// NewHasher makes a hasher that runs at most `parallel` hashes at once; others wait for a slot or their context.
func NewHasher(memoryKiB, passes uint32, parallel int64) *Hasher {
	h := &Hasher{MemoryKiB: memoryKiB, Passes: passes, slots: semaphore.NewWeighted(parallel)}
	h.dummy = h.hash("no such account")
	return h
}

// Hash makes the stored form, in the PHC string format.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if err := h.slots.Acquire(ctx, 1); err != nil {
		return "", fault.New(fault.Unavailable, "busy", "The server is busy. Try again in a moment.").Because(err)
	}
	defer h.slots.Release(1)
	return h.hash(password), nil
}

func (h *Hasher) hash(password string) string {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt)
	sum := argon2.IDKey([]byte(password), salt, h.Passes, h.MemoryKiB, 1, 32)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, h.MemoryKiB, h.Passes, b64(salt), b64(sum))
}

// Verify compares. An empty stored hash costs the same time and never matches, so
// that an unknown address cannot be told by the clock. still is asked when it is this
// password's turn: its error is the answer, and no hash is made. Whatever limits guesses
// belongs there, for a thousand may wait by the time that the twentieth has failed.
func (h *Hasher) Verify(ctx context.Context, stored, password string, still func() error) (bool, error) {
	if err := h.slots.Acquire(ctx, 1); err != nil {
		return false, fault.New(fault.Unavailable, "busy", "The server is busy. Try again in a moment.").Because(err)
	}
	defer h.slots.Release(1)
	if err := still(); err != nil {
		return false, err
	}
	known := stored != ""
	if !known {
		stored = h.dummy
	}
	var v int
	var m, t uint32
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errors.New("account: stored password hash has an unknown form")
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=1", &v, &m, &t); err != nil {
		return false, fmt.Errorf("account: stored password hash: %w", err)
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err := errors.Join(err1, err2); err != nil {
		return false, fmt.Errorf("account: stored password hash: %w", err)
	}
	got := argon2.IDKey([]byte(password), salt, t, m, 1, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1 && known, nil
}

func b64(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }

// commonList holds passwords that everybody tries first, in lower case.
const commonList = `password password1 password12 password123 passw0rd p@ssw0rd p@ssword1 qwerty123 qwertyuiop qwerty12345 1q2w3e4r5t 1qaz2wsx zaq12wsx
welcome1 welcome123 letmein1 letmein123 admin123 administrator iloveyou1 iloveyou123 sunshine1 princess1 football1 baseball1 monkey123 dragon123 master123
superman1 batman123 trustno1 shadow123 michael1 jordan23 charlie1 changeme1 changeme123 secret123 hello123 abc12345 abcd1234 aa123456 a1234567`

// CheckPassword applies the rules of desktop 6 and names every broken one.
func CheckPassword(password, email string) error {
	f := fault.New(fault.Invalid, "password_weak", "This password is not strong enough.")
	n := len(f.Fields)
	add := func(code, msg string) { f = f.With("password", code, msg) }
	length := utf8.RuneCountInString(password)
	if length < 8 {
		add("too_short", "Use at least 8 characters.")
	}
	if length > 200 {
		add("too_long", "Use at most 200 characters.")
	}
	if !strings.ContainsFunc(password, unicode.IsLower) {
		add("lower_case", "Add a lower-case letter.")
	}
	if !strings.ContainsFunc(password, unicode.IsUpper) {
		add("upper_case", "Add an upper-case letter.")
	}
	if !strings.ContainsFunc(password, unicode.IsDigit) {
		add("digit", "Add a digit.")
	}
	low := strings.ToLower(password)
	if isCommon(low) || isRun(low) {
		add("common", "This password is easy to guess.")
	}
	if local, _, _ := strings.Cut(strings.ToLower(email), "@"); len(local) >= 4 && strings.Contains(low, local) {
		add("contains_email", "Do not use your e-mail address in the password.")
	}
	if len(f.Fields) == n {
		return nil
	}
	return f
}

func isCommon(low string) bool {
	for w := range strings.FieldsSeq(commonList) {
		if low == w {
			return true
		}
	}
	return false
}

// isRun reports one repeated character or a straight run such as "abcdefgh" or "87654321".
func isRun(s string) bool {
	r := []rune(s)
	if len(r) < 2 {
		return false
	}
	step := r[1] - r[0]
	if step < -1 || step > 1 {
		return false
	}
	for n := 1; n < len(r); n++ {
		if r[n]-r[n-1] != step {
			return false
		}
	}
	return true
}

func toValid(s string) string { return strings.ToValidUTF8(s, "") }
