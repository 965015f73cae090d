// Package olmtest runs other implementations of Olm for tests: libolm through Debian's python3-olm, and vodozemac through npm.
// Each is a child process of interop/letters that lives as long as the test and speaks JSON lines; its operations are
// documented there.
package olmtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	python   = "/usr/bin/python3" // Debian's, whose python3-olm this is; another may stand before it in PATH
	patience = 10 * time.Minute
)

// Child is another implementation in a process of its own. Its methods fail the test when the child is gone; they may not be
// called from two goroutines at once.
type Child struct {
	in     io.Writer
	out    *bufio.Reader
	stderr *bytes.Buffer
}

// Request is an operation ("op") and its arguments.
type Request map[string]any

// Answer has the members of all operations.
type Answer struct {
	Error     string    `json:"error"`
	N         int       `json:"n"` // the number of an account, machine or session
	ID        string    `json:"id"`
	User      string    `json:"user"`
	Curve     string    `json:"curve"`
	Ed        string    `json:"ed"`
	Keys      []string  `json:"keys"`
	Typ       int       `json:"typ"`
	Body      string    `json:"body"`
	Text      string    `json:"text"`
	Texts     []*string `json:"texts"`
	Yes       bool      `json:"yes"`
	Signature string    `json:"signature"`
	Pickle    string    `json:"pickle"`
	Account   string    `json:"account"`
	Sessions  []string  `json:"sessions"`
	Vodozemac string    `json:"vodozemac"` // version
}

// Libolm starts libolm (interop/letters/libolm.py).
func Libolm(t testing.TB) *Child {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import olm").CombinedOutput(); err != nil {
		t.Fatalf("libolm is missing. Run `make deps` (apt-get install -y python3-olm): %v\n%s", err, out)
	}
	return start(t, python, "libolm.py")
}

// Vodozemac starts vodozemac inside the Matrix crypto machine (interop/letters/vodozemac.mjs).
func Vodozemac(t testing.TB) *Child {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder(t), "node_modules/@matrix-org/matrix-sdk-crypto-wasm")); err != nil {
		t.Fatalf("vodozemac is missing. Run `make deps` (npm ci --prefix interop/letters): %v", err)
	}
	return start(t, "node", "vodozemac.mjs")
}

// folder is interop/letters, looked for upwards from the package under test.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "interop", "letters")
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatalf("no go.mod above the package under test: %v", err)
	return ""
}

func start(t testing.TB, name string, args ...string) *Child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder(t)
	c := &Child{stderr: new(bytes.Buffer)}
	cmd.Stderr = c.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		_ = in.Close() // the end of its input is the end of the child
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, c.stderr)
		}
	})
	return c
}

// Try makes a request; what the other implementation complains of is the error.
func (c *Child) Try(t testing.TB, r Request) (Answer, error) {
	t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("%v\n%s", err, c.stderr)
	}
	line, err = c.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, c.stderr)
	}
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// Ask makes a request that has to succeed.
func (c *Child) Ask(t testing.TB, r Request) Answer {
	t.Helper()
	a, err := c.Try(t, r)
	if err != nil {
		t.Fatalf("%v: %v", r["op"], err)
	}
	return a
}

// Envelope seals a pickle's text as libolm and vodozemac do (contract letters 2.3).
func Envelope(t testing.TB, plain string, pickleKey []byte) string {
	t.Helper()
	b, err := hkdf.Key(sha256.New, pickleKey, []byte{0}, "Pickle", 80)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(b[:32])
	if err != nil {
		t.Fatal(err)
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	sealed := []byte(plain + strings.Repeat(string(rune(pad)), pad))
	cipher.NewCBCEncrypter(block, b[64:]).CryptBlocks(sealed, sealed)
	mac := hmac.New(sha256.New, b[32:64])
	mac.Write(sealed)
	return base64.RawStdEncoding.EncodeToString(mac.Sum(sealed)[:len(sealed)+8])
}

// OpenEnvelope opens what [Envelope] seals, which libolm's own pickles are in too.
func OpenEnvelope(t testing.TB, sealed string, pickleKey []byte) string {
	t.Helper()
	b, err := hkdf.Key(sha256.New, pickleKey, []byte{0}, "Pickle", 80)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(b[:32])
	if err != nil {
		t.Fatal(err)
	}
	text, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil || len(text) < aes.BlockSize+8 {
		t.Fatalf("no envelope: %v", err)
	}
	text = text[:len(text)-8]
	cipher.NewCBCDecrypter(block, b[64:]).CryptBlocks(text, text)
	return string(text[:len(text)-int(text[len(text)-1])])
}
