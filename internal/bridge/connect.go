package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/session"
)

// ParseConnect reads a connect string: JSON with url, agent_id and api_key
// (camelCase and gateway_url are taken too), or
// agnt://AGENT_ID:KEY@HOST[:PORT][/PATH], which means https except for this
// machine itself or with ?tls=0. ok is false for anything else, such as a key.
func ParseConnect(s string) (c Credentials, ok bool, err error) {
	s = strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(s, "{"):
		var in map[string]any
		if err := json.Unmarshal([]byte(s), &in); err != nil {
			return c, false, errors.New("the pasted text begins like JSON but is none")
		}
		first := func(keys ...string) string {
			for _, k := range keys {
				if v, _ := in[k].(string); v != "" {
					return v
				}
			}
			return ""
		}
		c = Credentials{
			URL: first("url", "gateway_url", "gatewayUrl"), AgentID: first("agent_id", "agentId"), APIKey: first("api_key", "apiKey"),
			DisplayName: first("display_name", "displayName"), Backend: first("backend"), Model: first("model"),
		}
	case strings.HasPrefix(s, "agnt://"):
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.User == nil {
			// The library's error would repeat the key.
			return c, false, errors.New("the connect string is damaged; copy it again")
		}
		scheme := "https"
		if h := u.Hostname(); u.Query().Get("tls") == "0" || h == "localhost" || h == "::1" || strings.HasPrefix(h, "127.") {
			scheme = "http"
		}
		key, _ := u.User.Password()
		c = Credentials{URL: scheme + "://" + u.Host + u.Path, AgentID: u.User.Username(), APIKey: key}
	default:
		return c, false, nil
	}
	if c.AgentID == "" || c.APIKey == "" {
		return c, false, errors.New("the connect string carries no agent id or no key")
	}
	return c, true, nil
}

// Fill takes over what other has; what c has and other lacks stays.
func (c Credentials) Fill(other Credentials) Credentials {
	for _, f := range []struct{ to, from *string }{
		{&c.URL, &other.URL}, {&c.AgentID, &other.AgentID}, {&c.APIKey, &other.APIKey},
		{&c.DisplayName, &other.DisplayName}, {&c.Backend, &other.Backend}, {&c.Model, &other.Model},
	} {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
	return c
}

// Connect sets an agent up: claims the invite if there is one, proves the key
// at the server, stores the credentials, then checks the model and says so.
// Nothing is stored unless the server accepted the key.
func Connect(ctx context.Context, home string, c Credentials, invite string, conf Config, out io.Writer) error {
	base, err := CleanURL(c.URL)
	if err != nil {
		return err
	}
	c.URL = base
	if invite != "" {
		claimed, err := ClaimInvite(ctx, base, invite, conf.DeviceName)
		if err != nil {
			return err
		}
		c = c.Fill(claimed)
		// An invite works once: store it before anything else can fail.
		if err := Save(home, c); err != nil {
			return err
		}
	}
	conf.Log = slog.New(slog.DiscardHandler)
	conf.Timing = session.DefaultTiming()
	need, err := session.Probe(ctx, conf.options(c.Agent()))
	if err != nil {
		return explain(base, err)
	}
	if need.Profile.DisplayName != "" {
		c.DisplayName = need.Profile.DisplayName
	}
	if err := Save(home, c); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Connected: %s (%s) at %s.\n", c.DisplayName, c.AgentID, c.URL)
	conf.Agents = []Agent{c.Agent()}
	if err := Check(ctx, conf, out); err != nil {
		_, _ = fmt.Fprintln(out, "The agent is set up, but it cannot answer yet; see above. Check again with: agnt bridge --check")
		return err
	}
	if conf.Agents[0].Letters.On {
		_, _ = fmt.Fprintln(out, "Letters are on: its address is on its page as soon as the bridge runs.")
	}
	_, _ = fmt.Fprintln(out, "Start it with: agnt bridge")
	return nil
}

// ClaimInvite trades an invite code for an agent's credentials (contract 1.5).
func ClaimInvite(ctx context.Context, base, code, device string) (Credentials, error) {
	return claim(ctx, base, code, map[string]any{"executorKey": "agnt", "executorDisplayName": device})
}

func claim(ctx context.Context, base, code string, as map[string]any) (Credentials, error) {
	if !strings.HasPrefix(code, "inv_") {
		code = "inv_" + code
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	body, err := json.Marshal(as)
	if err != nil {
		return Credentials{}, fmt.Errorf("claim invite: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/invites/"+url.PathEscape(code)+"/claim", bytes.NewReader(body))
	if err != nil {
		return Credentials{}, errors.New("claim invite: the code or the address is malformed")
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Timeout: 15 * time.Second}).Do(req)
	if err != nil {
		return Credentials{}, fmt.Errorf("%w at %s", ErrServer, base)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return Credentials{}, fmt.Errorf("claim invite: %w", err)
	}
	switch res.StatusCode {
	case http.StatusCreated:
	case http.StatusNotFound:
		var off struct {
			Error any `json:"error"`
		}
		if json.Unmarshal(raw, &off) == nil && off.Error == "external_agents_disabled" {
			return Credentials{}, errors.New("external agents are switched off on this server")
		}
		return Credentials{}, errors.New("the server does not know this invite; check code and address")
	case http.StatusConflict:
		return Credentials{}, errors.New("this invite was claimed already or was revoked; ask for a new one")
	case http.StatusGone:
		return Credentials{}, errors.New("this invite has expired; ask for a new one")
	default:
		return Credentials{}, fmt.Errorf("the server did not accept the invite (HTTP %d)", res.StatusCode)
	}
	var out struct {
		AgentID string `json:"agentId"`
		APIKey  string `json:"apiKey"`
		Agent   struct {
			DisplayName string `json:"displayName"`
		} `json:"agent"`
	}
	if err := json.Unmarshal(raw, &out); err != nil || out.AgentID == "" || out.APIKey == "" {
		return Credentials{}, errors.New("claim invite: the answer carries no credentials")
	}
	return Credentials{URL: base, AgentID: out.AgentID, APIKey: out.APIKey, DisplayName: out.Agent.DisplayName}, nil
}
