package session

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// backend returns the backend that the profile asks for, made on first use and
// kept. A change of the profile takes effect with the next turn.
func (a *Agent) backend(ctx context.Context, p Profile) (backend.Backend, error) {
	name := a.opt.Backend
	if name == "" {
		name = backend.Canonical(p.ModelConfig.Backend)
	}
	unlock, err := a.rows.lock(ctx, "backend")
	if err != nil {
		return nil, err
	}
	defer unlock()
	a.mu.Lock()
	b := a.backends[name]
	a.mu.Unlock()
	if b != nil {
		return b, nil
	}
	b, err = a.opt.NewBackend(ctx, Need{Name: name, Profile: p, Dir: a.opt.Dir, Credential: a.credential})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.backends[name] = b
	a.mu.Unlock()
	return b, nil
}

// warmUp makes the backend and checks it, so that the server can show what is
// wrong before the first message. Nothing waits for it.
func (a *Agent) warmUp(ctx context.Context) {
	a.mu.Lock()
	p := a.profile
	a.mu.Unlock()
	b, err := a.backend(ctx, p)
	if err == nil {
		cctx, cancel := context.WithTimeout(ctx, time.Minute)
		err = b.Check(cctx)
		cancel()
	}
	if ctx.Err() != nil {
		return
	}
	a.setHealth(err, true)
	if err != nil {
		a.log.Warn("model backend is not usable yet", slog.Any("error", err))
		return
	}
	a.log.Info("model backend ready", "backend", b.Name())
	a.reportChoice(ctx, p, b.Name())
}

// reportChoice tells the server what the operator chose on the command line
// where the profile names nothing. A default that this machine found for itself
// is not reported: another machine may have to find another one.
func (a *Agent) reportChoice(ctx context.Context, p Profile, name string) {
	conf := map[string]any{}
	if a.opt.Backend != "" && p.ModelConfig.Backend == "" {
		conf["backend"] = name
	}
	if a.opt.Model != "" && p.ModelConfig.Model == "" {
		conf["model"] = a.opt.Model
	}
	if len(conf) == 0 || name == backend.Scripted {
		return
	}
	if err := a.api.call(ctx, "PATCH", "/api/agents/me/model-config", map[string]any{"model_config": conf}, nil); err != nil {
		a.log.Warn("model choice not reported", slog.Any("error", err))
	}
}

// credential asks the server for the owner's provider key; no key is an empty
// string and no error (contract 1.6).
func (a *Agent) credential(ctx context.Context, provider string) (string, error) {
	var out struct {
		Token string `json:"token"`
	}
	err := a.api.call(ctx, "GET", "/api/integrations/"+url.PathEscape(provider)+"/resolve", nil, &out)
	if isStatus(err, 404, "") {
		return "", nil
	}
	return out.Token, err
}
