package cli

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

//go:embed web.html
var webPage []byte

// webPort is where the page is when no port is named.
const webPort = 8765

// web serves the kept letters on this machine until ctx ends. Everything on it needs the secret of the printed address.
func (c *Call) web(ctx context.Context) error {
	port := webPort
	if c.Has("--port") {
		n, err := strconv.Atoi(c.Get("--port"))
		if err != nil || n < 0 || n > 65535 {
			return usagef("--port takes a number from 0 to 65535")
		}
		port = n
	}
	k, done, err := c.kept(ctx)
	if err != nil {
		return err
	}
	defer done()
	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // never fails
	v := &webView{kept: k, token: base64.RawURLEncoding.EncodeToString(secret)}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	v.host = l.Addr().String()
	srv := &http.Server{Handler: v.routes(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	ended := context.AfterFunc(ctx, func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = srv.Shutdown(stop)
	})
	defer ended()
	c.say("letters of %s: http://%s/?t=%s", orUser(k.me.Name), v.host, v.token)
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

type webView struct {
	kept  *kept
	token string
	host  string
}

func (v *webView) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(webPage)
	})
	mux.HandleFunc("GET /api/conversations", v.conversations)
	mux.HandleFunc("GET /api/messages", v.messages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer") // the secret is in the address
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		given := firstOf(r.Header.Get("X-Retalk-Token"), r.URL.Query().Get("t"))
		// The host too: a page elsewhere whose name was made to point here has no business here.
		if subtle.ConstantTimeCompare([]byte(given), []byte(v.token)) != 1 || r.Host != v.host {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, "the store cannot be read", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

type webConversation struct {
	Fingerprint string  `json:"fingerprint"` // a peer's address or a group's id
	Name        string  `json:"name"`
	Group       bool    `json:"group"`
	Count       int     `json:"count"`
	Last        float64 `json:"last"`
}

func (v *webView) conversations(w http.ResponseWriter, r *http.Request) {
	var list []store.Conversation
	err := v.kept.store.Tx(r.Context(), func(tx *store.Tx) (err error) {
		list, err = tx.Conversations()
		return err
	})
	out := make([]webConversation, 0, len(list))
	for _, x := range list {
		name := x.GroupName
		if name == "" {
			contact, _ := v.kept.all.ByAddress(x.With)
			name = firstOf(contact.Name, x.With)
		}
		out = append(out, webConversation{x.With, name, x.GroupName != "", x.Count, x.Last})
	}
	answer(w, map[string]any{"me": v.kept.me.Name, "conversations": out}, err)
}

type webMessage struct {
	Row       int64   `json:"rowid"`
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Direction string  `json:"direction"`
	Text      string  `json:"text"`
	TS        float64 `json:"ts"`
}

func (v *webView) messages(w http.ResponseWriter, r *http.Request) {
	peer := r.URL.Query().Get("peer")
	after, err := strconv.ParseInt(firstOf(r.URL.Query().Get("after"), "0"), 10, 64)
	if err != nil || peer == "" || len(peer) > 4*letter.AddressLen {
		http.Error(w, "peer and after, please", http.StatusBadRequest)
		return
	}
	var list []store.Saved
	err = v.kept.store.Tx(r.Context(), func(tx *store.Tx) (err error) {
		list, err = tx.History(after, peer, historyPage)
		return err
	})
	out := make([]webMessage, 0, len(list))
	for _, s := range list {
		out = append(out, webMessage{s.N, s.ID, v.kept.name(s), direction(s), s.Text, s.At})
	}
	answer(w, map[string]any{"messages": out}, err)
}
