package relay

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"time"

	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

const (
	adminBody = 64 << 10
	mostLabel = 200
)

// admitted checks the admin password (HTTP Basic, any user name). Without one set
// there is no admin at all (letters.md 1.6).
func (r *Relay) admitted(w http.ResponseWriter, req *http.Request) bool {
	if r.cfg.AdminPassword == "" {
		fail(w, http.StatusNotFound, wire.TextNotFound)
		return false
	}
	if err := r.mayTry(req); err != nil {
		r.answerError(req.Context(), w, "admin", err)
		return false
	}
	_, password, _ := req.BasicAuth()
	got, want := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(r.cfg.AdminPassword))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		r.failed(req)
		w.Header().Set("WWW-Authenticate", `Basic realm="retalk admin"`)
		fail(w, http.StatusUnauthorized, wire.TextAdminAuth)
		return false
	}
	return true
}

// sameSite refuses a page of another site that lets a browser, which knows the
// password, press buttons here.
var sameSite = http.NewCrossOriginProtection()

func (r *Relay) adminCall(w http.ResponseWriter, req *http.Request) {
	if !r.admitted(w, req) {
		return
	}
	if err := sameSite.Check(req); err != nil {
		fail(w, http.StatusForbidden, "cross-origin request refused")
		return
	}
	out, err := r.administer(req)
	if err != nil {
		r.answerError(req.Context(), w, "admin", err)
		return
	}
	_ = answer(w, http.StatusOK, out)
}

func (r *Relay) administer(req *http.Request) (any, error) {
	body, err := io.ReadAll(io.LimitReader(req.Body, adminBody+1))
	if err != nil || len(body) > adminBody {
		return nil, bad("the request body is too large or could not be read")
	}
	var in struct {
		Action  string `json:"action"`
		Label   string `json:"label"`
		KeyHash string `json:"key_hash"`
	}
	if json.Unmarshal(body, &in) != nil {
		return nil, bad("the request body is not a JSON object of strings")
	}
	ctx := req.Context()
	switch in.Action {
	case "create":
		if len(in.Label) > mostLabel {
			return nil, bad("a label may have at most %d bytes", mostLabel)
		}
		var random [32]byte
		_, _ = rand.Read(random[:]) // never fails
		key := base64.RawURLEncoding.EncodeToString(random[:])
		if err := r.office.AddAPIKey(ctx, hashKey(key), in.Label, r.cfg.Clock()); err != nil {
			return nil, err
		}
		return wire.NewAPIKey{Key: key, KeyHash: hashKey(key), Label: in.Label}, nil
	case "list":
		return r.apiKeys(req)
	case "disable", "enable":
		n, err := r.office.SetDisabled(ctx, in.KeyHash, in.Action == "disable")
		return wire.Updated{Updated: n}, err
	case "delete":
		n, err := r.office.DropAPIKey(ctx, in.KeyHash)
		return wire.Deleted{Deleted: n}, err
	}
	return nil, bad("%s%s", wire.TextUnknownAction, in.Action)
}

func (r *Relay) apiKeys(req *http.Request) (wire.APIKeys, error) {
	list, err := r.office.APIKeys(req.Context())
	out := wire.APIKeys{Keys: []wire.APIKey{}}
	for _, k := range list {
		out.Keys = append(out.Keys, wire.APIKey{KeyHash: k.Hash, Label: k.Label, Created: k.Created, Disabled: k.Disabled})
	}
	return out, err
}

var adminHTML = template.Must(template.New("admin").Funcs(template.FuncMap{
	"day": func(unix float64) string { return time.Unix(int64(unix), 0).UTC().Format("2006-01-02 15:04 UTC") },
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Relay: API keys</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}table{border-collapse:collapse;width:100%}
td,th{border-bottom:1px solid #ccc;padding:.4rem;text-align:left}code{font-size:.8rem;word-break:break-all}</style></head>
<body><h1>API keys</h1>
{{if .Keys}}<table><thead><tr><th>Label</th><th>Created</th><th>State</th><th>Hash</th></tr></thead><tbody>
{{range .Keys}}<tr><td>{{.Label}}</td><td>{{day .Created}}</td><td>{{if .Disabled}}disabled{{else}}enabled{{end}}</td><td><code>{{.KeyHash}}</code></td></tr>
{{end}}</tbody></table>{{else}}<p>There is no key yet.</p>{{end}}
<p>Keys are made and changed by POST of JSON to this address: <code>{"action":"create","label":"…"}</code>, <code>list</code>, and with
<code>key_hash</code>: <code>disable</code>, <code>enable</code>, <code>delete</code>. A key is shown once, when it is made.</p>
</body></html>
`))

func (r *Relay) adminPage(w http.ResponseWriter, req *http.Request) {
	if !r.admitted(w, req) {
		return
	}
	keys, err := r.apiKeys(req)
	if err != nil {
		r.answerError(req.Context(), w, "admin", err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	_ = adminHTML.Execute(w, keys)
}
