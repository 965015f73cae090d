package olm

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"
)

// TestL2_GoldenBodies reads the ciphertexts of the recorded exchanges, which real clients made: each is written back byte for
// byte, names its sender's identity key, and was meant for a key that was claimed before it.
func TestL2_GoldenBodies(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../wire/letter/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var exchanges []struct {
		Request *struct {
			Tool string `json:"tool"`
			Args struct {
				MType int    `json:"mtype"`
				Body  string `json:"body"`
				Auth  struct {
					IdentityKey string `json:"identity_key"`
				} `json:"auth"`
			} `json:"args"`
		} `json:"request"`
		Response json.RawMessage `json:"response"`
	}
	if err := json.Unmarshal(b, &exchanges); err != nil {
		t.Fatal(err)
	}
	claimed := map[string]bool{}
	var preKeys, normals int
	for n, x := range exchanges {
		var answer struct {
			OneTimeKey string `json:"one_time_key"`
		}
		if json.Unmarshal(x.Response, &answer) == nil {
			claimed[answer.OneTimeKey] = true
		}
		if x.Request == nil || x.Request.Tool != "send_message" {
			continue
		}
		a := x.Request.Args
		raw, err := base64.StdEncoding.DecodeString(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		var m normal
		var keys sessionKeys
		if a.MType == TypePreKey {
			p, err := decodePreKey(a.Body)
			if err != nil {
				t.Fatalf("exchange %d: %v", n, err)
			}
			m, keys = p.message, p.keys
			preKeys++
			if keys.identity.String() != a.Auth.IdentityKey || !claimed[keys.oneTime.String()] {
				t.Errorf("exchange %d: keys %s, %s", n, keys.identity, keys.oneTime)
			}
		} else if m, err = decodeNormal(a.Body); err != nil {
			t.Fatalf("exchange %d: %v", n, err)
		} else {
			normals++
		}
		again := append(encodeNormal(m.ratchet, m.index, m.ciphertext), m.mac...)
		if a.MType == TypePreKey {
			again = encodePreKey(keys, again)
		}
		if string(again) != string(raw) || encodeBody(again) != a.Body {
			t.Errorf("exchange %d is not written as it was read", n)
		}
	}
	if preKeys == 0 || normals == 0 {
		t.Fatalf("%d pre-key and %d normal messages", preKeys, normals)
	}
	t.Logf("%d pre-key and %d normal messages", preKeys, normals)
}
