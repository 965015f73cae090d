package flow

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/tool"
)

// call uses a secret that was given for request_credential: only below the endpoint
// for which it was given, only by the agent that asked, and only on behalf of the
// person who gave it.
func (t *CredentialTools) call() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "call_with_credential", Category: "credentials",
				Description: "Call a web service with a credential that your owner gave you (request_credential). The secret is added for you and is never shown.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"credential_id":{"type":"string","format":"uuid","description":"From the message that told you."},` +
					`"method":{"type":"string","enum":["GET","POST","PUT","PATCH","DELETE"],"default":"GET"},` +
					`"path":{"type":"string","maxLength":2000,"default":"","description":"Below the credential's endpoint: \"/forecast\"."},` +
					`"query":{"type":"object","additionalProperties":{"type":"string"},"description":"Query parameters."},` +
					`"body":{"type":"string","maxLength":200000,"description":"JSON, unless content_type says otherwise."},` +
					`"content_type":{"type":"string","maxLength":100,"default":"application/json"}},"required":["credential_id"]}`),
			},
			DisplayName: "Call a service with a credential", Tags: []string{"credentials"}, Risk: tool.Medium, Limits: tool.Limits{PerMinute: 30},
		},
		Handle: t.runCall,
		Risky: func(_ context.Context, _ ToolCaller, args ToolArgs) (Danger, error) {
			if m := args.Text("method"); m != "" && m != http.MethodGet {
				return Danger{Risk: tool.High}, nil
			}
			return Danger{Risk: tool.Medium}, nil
		},
	}
}

var errNotYourCredential = fault.New(fault.Forbidden, "forbidden", "This credential was given for the work of its owner, and this turn is somebody else's.")

func (t *CredentialTools) runCall(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	cid, err := id.Parse[id.Credential](args.Text("credential_id"))
	if err != nil {
		return ToolResult{}, fault.ErrNotFound
	}
	if c.Person.ID != c.Agent.OwnerID {
		return ToolResult{}, errNotYourCredential
	}
	cred, err := approval.SealedCredential(ctx, t.Approvals.DB, c.Agent.ID, cid)
	if err != nil {
		return ToolResult{}, err
	}
	address, err := below(cred.Endpoint, args)
	if err != nil {
		return ToolResult{}, err
	}
	plain, _, err := t.Approvals.Ring.Open(cred.Purpose(), cred.Sealed)
	if err != nil {
		return ToolResult{}, fmt.Errorf("open credential: %w", err)
	}
	req := outbound.Request{Method: args.Text("method"), URL: address, Header: http.Header{"Accept": {"application/json, text/*;q=0.9"}}, SameHost: true, MaxBody: 1 << 20}
	if args.Has("body") {
		kind := args.Text("content_type")
		if kind == "" {
			kind = "application/json"
		}
		req.Body = []byte(args.Text("body"))
		req.Header.Set("Content-Type", kind)
	}
	authorise(req.Header, cred, string(plain))
	res, err := t.Fetch.Do(ctx, req)
	if err != nil {
		return ToolResult{}, err
	}
	return ToolResult{Text: fmt.Sprintf("Status: %d\n\n%s", res.Status, answerText(res, plain)), Source: res.URL.Host}, nil
}

// below is an address under the endpoint for which the secret was given.
func below(endpoint *string, args ToolArgs) (string, error) {
	bad := fault.New(fault.Invalid, "invalid_arguments", "The path must stay below the credential's endpoint.").With("path", "invalid", "begin with / and do without dots")
	if endpoint == nil {
		return "", bad
	}
	base, err := url.Parse(*endpoint)
	if err != nil {
		return "", bad
	}
	p := args.Text("path")
	if strings.ContainsAny(p, "?#\\%") || strings.Contains(p, "..") || (p != "" && !strings.HasPrefix(p, "/")) {
		return "", bad
	}
	u := base
	if p != "" {
		u = base.JoinPath(p)
	}
	if u.Host != base.Host || !strings.HasPrefix(u.Path+"/", strings.TrimSuffix(base.Path, "/")+"/") {
		return "", bad
	}
	q := url.Values{}
	if raw := args.Object("query"); raw != nil {
		var m map[string]string
		if err := json.Unmarshal(raw, &m); err != nil {
			return "", fault.New(fault.Invalid, "invalid_arguments", "query is an object of texts.").With("query", "type", "texts only")
		}
		for k, v := range m {
			q.Set(k, v)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

func authorise(h http.Header, c approval.Sealed, secret string) {
	mode := approval.DefaultAuth
	if c.AuthMode != nil {
		mode = *c.AuthMode
	}
	switch {
	case mode == "basic":
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(secret)))
	case mode == "header" && c.AuthHeader != nil:
		h.Set(*c.AuthHeader, secret)
	default:
		h.Set("Authorization", "Bearer "+secret)
	}
}

// answerText is what the model reads of an answer: text only, and without the
// secret, which a service may echo.
func answerText(res outbound.Response, secret []byte) string {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if !utf8.Valid(res.Body) && !res.Truncated {
		return fmt.Sprintf("[%d bytes of %s, not text]", len(res.Body), kind)
	}
	body := bytes.ToValidUTF8(res.Body, nil)
	for _, s := range spellings(secret) {
		body = bytes.ReplaceAll(body, s, []byte("[secret]"))
	}
	if res.Truncated {
		return string(body) + "\n[cut here: the answer is longer]"
	}
	return string(body)
}

// leastPart is how long the password of a user:password is at least for it to be taken
// out of answers by itself: shorter ones would take words with them.
const leastPart = 6

// spellings are the ways in which services echo a secret, longest first: as it is and
// behind user:, each also in base64, in an address and in JSON.
func spellings(secret []byte) [][]byte {
	parts := [][]byte{secret}
	if _, password, ok := bytes.Cut(secret, []byte(":")); ok && len(password) >= leastPart {
		parts = append(parts, password)
	}
	var out [][]byte
	for _, p := range parts {
		if len(p) == 0 {
			continue
		}
		quoted, _ := json.Marshal(string(p)) // of a text it cannot fail
		for _, q := range [][]byte{quoted[1 : len(quoted)-1], []byte(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(p)))} {
			out = append(out, q, bytes.ReplaceAll(q, []byte("/"), []byte(`\/`)))
		}
		out = append(out, p, []byte(url.QueryEscape(string(p))), []byte(url.PathEscape(string(p))))
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			out = append(out, []byte(e.EncodeToString(p)))
		}
	}
	slices.SortStableFunc(out, func(a, b []byte) int { return len(b) - len(a) })
	return out
}
