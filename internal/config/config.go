// Package config turns the environment into one validated struct. It is the only
// place of the server that reads the environment; the struct prints redacted.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is everything the server can be told. Durations are in Go form ("600s").
type Config struct {
	Addr        string `env:"AGNTCHAT_ADDR" envDefault:"127.0.0.1:4000"`
	MetricsAddr string `env:"AGNTCHAT_METRICS_ADDR" envDefault:"127.0.0.1:9091"` // "off" for none
	PublicURL   string `env:"AGNTCHAT_PUBLIC_URL"`                               // how people reach it, no trailing slash

	DatabaseURL       string `env:"DATABASE_URL"`        // may be a transaction-mode pooler
	DatabaseDirectURL string `env:"DATABASE_DIRECT_URL"` // migrations, River's LISTEN
	DatabaseMaxConns  int32  `env:"AGNTCHAT_DB_MAX_CONNS" envDefault:"20"`
	PGBinDir          string `env:"AGNTCHAT_PG_BINDIR"` // dev: where Postgres's programs are

	SecretKey          string   `env:"AGNTCHAT_SECRET_KEY"` // 32 bytes in base64url; "new,old" while rotating
	Origins            []string `env:"AGNTCHAT_ORIGINS"`    // further allowed browser origins
	TrustedProxyHeader string   `env:"AGNTCHAT_TRUSTED_PROXY_HEADER"`
	Signup             string   `env:"AGNTCHAT_SIGNUP" envDefault:"open"` // open | closed

	MessageLease    time.Duration `env:"AGNTCHAT_MESSAGE_LEASE" envDefault:"600s"`
	MessageMaxLease time.Duration `env:"AGNTCHAT_MESSAGE_MAX_LEASE" envDefault:"3600s"`
	TaskLease       time.Duration `env:"AGNTCHAT_TASK_LEASE" envDefault:"600s"`
	TaskMaxLease    time.Duration `env:"AGNTCHAT_TASK_MAX_LEASE" envDefault:"24h"`
	ExecutorTimeout time.Duration `env:"AGNTCHAT_EXECUTOR_TIMEOUT" envDefault:"180s"`
	SweepInterval   time.Duration `env:"AGNTCHAT_SWEEP_INTERVAL" envDefault:"1s"`
	DrainTimeout    time.Duration `env:"AGNTCHAT_DRAIN_TIMEOUT" envDefault:"30s"`
	PresenceGrace   time.Duration `env:"AGNTCHAT_PRESENCE_GRACE" envDefault:"10s"`

	PasswordMemoryKiB uint32 `env:"AGNTCHAT_PASSWORD_MEMORY_KIB" envDefault:"19456"`
	PasswordPasses    uint32 `env:"AGNTCHAT_PASSWORD_PASSES" envDefault:"2"`

	PostPerSecond float64 `env:"AGNTCHAT_POST_PER_SECOND" envDefault:"50"`
	PostBurst     int     `env:"AGNTCHAT_POST_BURST" envDefault:"500"`

	ExternalAgents string `env:"AGNTCHAT_EXTERNAL_AGENTS" envDefault:"on"` // on | off: sessions that people drive in their own tools

	FilesDir        string         `env:"AGNTCHAT_FILES_DIR"`                          // where files of rooms are kept; must survive a restart
	RunAs           Account        `env:"AGNTCHAT_RUN_AS"`                             // "uid:gid" that `serve` becomes when root starts it
	FilesQuotaMiB   int64          `env:"AGNTCHAT_FILES_QUOTA_MIB" envDefault:"10240"` // what one workspace may keep; 0 is no bound
	OutboundTrusted []netip.Prefix `env:"AGNTCHAT_OUTBOUND_TRUSTED"`                   // private networks that agents' tools may reach, for example 10.1.0.0/16
	BraveAPIKey     string         `env:"AGNTCHAT_BRAVE_API_KEY"`                      // web search for agents; without it there is none
	BraveURL        string         `env:"AGNTCHAT_BRAVE_URL"`                          // another address of the same interface

	LogLevel  slog.Level `env:"AGNTCHAT_LOG_LEVEL" envDefault:"INFO"`
	LogFormat string     `env:"AGNTCHAT_LOG_FORMAT" envDefault:"text"` // text | json

	Relay Relay
}

// Account is a user and a group by number.
type Account struct {
	UID, GID int
	Given    bool
}

// UnmarshalText reads "uid:gid". Root is refused.
func (a *Account) UnmarshalText(text []byte) error {
	user, group, _ := strings.Cut(string(text), ":")
	uid, err := strconv.ParseUint(user, 10, 31)
	gid, other := strconv.ParseUint(group, 10, 31)
	if err != nil || other != nil || uid == 0 {
		return errors.New("must be the numbers of a user that is not root and of its group, for example 65532:65532")
	}
	*a = Account{UID: int(uid), GID: int(gid), Given: true}
	return nil
}

// defaultOrigins are those of the desktop client (decision 26).
var defaultOrigins = [...]string{"tauri://localhost", "http://tauri.localhost", "https://tauri.localhost", "http://localhost:1420"}

// Load reads environ ("KEY=value" pairs, as os.Environ gives them). The error names every
// variable that is wrong, a line each; Missing of what is returned holds also then.
func Load(environ []string) (Config, error) {
	var c Config
	vars := env.ToMap(environ)
	adoptRetalk(vars)
	err := env.ParseWithOptions(&c, env.Options{Environment: vars})
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	for n, o := range c.Origins {
		c.Origins[n] = strings.TrimRight(strings.TrimSpace(o), "/")
	}
	if err != nil {
		return c, named(err)
	}
	return c, c.check()
}

// named says the variables where the parser says the fields of Config.
func named(err error) error {
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return err
	}
	var out []error
	for _, e := range all.Errors {
		p, ok := errors.AsType[env.ParseError](e)
		if !ok {
			out = append(out, e)
			continue
		}
		field, ok := reflect.TypeFor[Config]().FieldByName(p.Name)
		if !ok {
			field, _ = reflect.TypeFor[Relay]().FieldByName(p.Name)
		}
		out = append(out, fmt.Errorf("%s cannot be read: %w", field.Tag.Get("env"), p.Err))
	}
	return errors.Join(out...)
}

func (c Config) check() error {
	errs := []error{c.Relay.Check()}
	if c.Signup != "open" && c.Signup != "closed" {
		errs = append(errs, errors.New("AGNTCHAT_SIGNUP must be open or closed"))
	}
	if c.ExternalAgents != "on" && c.ExternalAgents != "off" {
		errs = append(errs, errors.New("AGNTCHAT_EXTERNAL_AGENTS must be on or off"))
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		errs = append(errs, errors.New("AGNTCHAT_LOG_FORMAT must be text or json"))
	}
	for name, d := range map[string]time.Duration{
		"AGNTCHAT_MESSAGE_LEASE": c.MessageLease, "AGNTCHAT_MESSAGE_MAX_LEASE": c.MessageMaxLease, "AGNTCHAT_EXECUTOR_TIMEOUT": c.ExecutorTimeout,
		"AGNTCHAT_TASK_LEASE": c.TaskLease, "AGNTCHAT_TASK_MAX_LEASE": c.TaskMaxLease,
		"AGNTCHAT_SWEEP_INTERVAL": c.SweepInterval, "AGNTCHAT_DRAIN_TIMEOUT": c.DrainTimeout,
	} {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("%s must be positive", name))
		}
	}
	if c.PostPerSecond <= 0 || c.PostBurst < 1 {
		errs = append(errs, errors.New("AGNTCHAT_POST_PER_SECOND must be positive and AGNTCHAT_POST_BURST at least 1: nobody could write"))
	}
	if c.DatabaseMaxConns < 1 {
		errs = append(errs, errors.New("AGNTCHAT_DB_MAX_CONNS must be at least 1"))
	}
	if c.FilesQuotaMiB < 0 {
		errs = append(errs, errors.New("AGNTCHAT_FILES_QUOTA_MIB must not be negative"))
	}
	if c.PresenceGrace < 0 {
		errs = append(errs, errors.New("AGNTCHAT_PRESENCE_GRACE must not be negative"))
	}
	for _, o := range c.Origins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			errs = append(errs, fmt.Errorf("AGNTCHAT_ORIGINS: %q is no origin such as https://app.example.com", o))
		}
	}
	if c.MessageMaxLease < c.MessageLease {
		errs = append(errs, errors.New("AGNTCHAT_MESSAGE_MAX_LEASE must not be shorter than AGNTCHAT_MESSAGE_LEASE"))
	}
	if c.TaskMaxLease < c.TaskLease {
		errs = append(errs, errors.New("AGNTCHAT_TASK_MAX_LEASE must not be shorter than AGNTCHAT_TASK_LEASE"))
	}
	if c.PublicURL != "" {
		if u, err := url.Parse(c.PublicURL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Path != "" {
			errs = append(errs, errors.New("AGNTCHAT_PUBLIC_URL must be a web address without a path"))
		}
	}
	if c.PasswordMemoryKiB < 8 || c.PasswordPasses < 1 {
		errs = append(errs, errors.New("AGNTCHAT_PASSWORD_MEMORY_KIB must be at least 8 and AGNTCHAT_PASSWORD_PASSES at least 1"))
	}
	return errors.Join(errs...)
}

// Missing lists, a line each, what `serve` needs and was not given; empty when complete.
func (c Config) Missing() []string {
	var out []string
	if c.DatabaseURL == "" {
		out = append(out, "DATABASE_URL: the Postgres to use, for example postgres://user:password@host:5432/agntchat")
	}
	if c.SecretKey == "" {
		out = append(out, "AGNTCHAT_SECRET_KEY: 32 random bytes in base64url; make one with `agntchat admin new-secret-key`")
	}
	if c.PublicURL == "" {
		out = append(out, "AGNTCHAT_PUBLIC_URL: the address by which people reach this server, for example https://chat.example.com")
	}
	return out
}

// AllowedOrigins are the browser origins that may call this server: the desktop
// client's, the configured ones, and its own.
func (c Config) AllowedOrigins() []string {
	out := append(defaultOrigins[:len(defaultOrigins):len(defaultOrigins)], c.Origins...)
	if c.PublicURL != "" {
		out = append(out, c.PublicURL)
	}
	return out
}

// LogValue prints the configuration without secrets: passwords are cut out of addresses.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("addr", c.Addr), slog.String("metrics_addr", c.MetricsAddr), slog.String("public_url", c.PublicURL),
		slog.String("database_url", redact(c.DatabaseURL)), slog.String("database_direct_url", redact(c.DatabaseDirectURL)),
		slog.Int("database_max_conns", int(c.DatabaseMaxConns)), slog.Bool("secret_key_set", c.SecretKey != ""), slog.String("signup", c.Signup),
		slog.Any("origins", c.AllowedOrigins()), slog.String("trusted_proxy_header", c.TrustedProxyHeader),
		slog.Duration("message_lease", c.MessageLease), slog.Duration("message_max_lease", c.MessageMaxLease), slog.Duration("executor_timeout", c.ExecutorTimeout),
		slog.Duration("task_lease", c.TaskLease), slog.Duration("task_max_lease", c.TaskMaxLease),
		slog.Duration("drain_timeout", c.DrainTimeout), slog.Any("relay", c.Relay),
	)
}

func redact(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		return "set"
	}
	return u.Redacted()
}
