package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"
)

// Relay is what the relay of encrypted letters can be told (docs/relay.md). Limits
// of 0 are off.
type Relay struct {
	Mount     string   `env:"AGNTCHAT_RELAY" envDefault:"on"`                  // on | off: below /relay of serve and dev
	Audiences []string `env:"AGNTCHAT_RELAY_AUDIENCE"`                         // further addresses by which clients know it
	Addr      string   `env:"AGNTCHAT_RELAY_ADDR" envDefault:"127.0.0.1:8766"` // where a relay alone listens

	MaxBody       int64         `env:"AGNTCHAT_RELAY_MAX_BODY" envDefault:"1048576"`
	RateLimit     int           `env:"AGNTCHAT_RELAY_RATE_LIMIT" envDefault:"600"`    // calls a minute of one sender
	RateBurst     int           `env:"AGNTCHAT_RELAY_RATE_BURST"`                     // of these, at once; 0: as many as the rate
	AddressRate   int           `env:"AGNTCHAT_RELAY_ADDRESS_RATE" envDefault:"6000"` // calls a minute of one network address
	Failures      int           `env:"AGNTCHAT_RELAY_FAILURES" envDefault:"600"`      // a minute, of one network address
	NewMailboxes  int           `env:"AGNTCHAT_RELAY_NEW_MAILBOXES" envDefault:"300"`
	Timeout       time.Duration `env:"AGNTCHAT_RELAY_TIMEOUT" envDefault:"30s"`
	MaxGroupSize  int           `env:"AGNTCHAT_RELAY_MAX_GROUP_SIZE" envDefault:"100"`
	AdminPassword string        `env:"AGNTCHAT_RELAY_ADMIN_PASSWORD"`
	RequireAPIKey bool          `env:"AGNTCHAT_RELAY_REQUIRE_API_KEY"`

	MaxMailbox          int           `env:"AGNTCHAT_RELAY_MAX_MAILBOX" envDefault:"1000"`
	MaxMailboxPerSender int           `env:"AGNTCHAT_RELAY_MAX_MAILBOX_PER_SENDER" envDefault:"200"`
	MaxMailboxBytes     int64         `env:"AGNTCHAT_RELAY_MAX_MAILBOX_BYTES" envDefault:"33554432"`
	MaxOneTimeKeys      int           `env:"AGNTCHAT_RELAY_MAX_ONE_TIME_KEYS" envDefault:"1000"`
	MaxRefused          int           `env:"AGNTCHAT_RELAY_MAX_REFUSED" envDefault:"1000"`
	RefusedTTL          time.Duration `env:"AGNTCHAT_RELAY_REFUSED_TTL" envDefault:"168h"`
	LetterTTL           time.Duration `env:"AGNTCHAT_RELAY_LETTER_TTL" envDefault:"720h"`
	MailboxTTL          time.Duration `env:"AGNTCHAT_RELAY_MAILBOX_TTL" envDefault:"4320h"`
	Lease               time.Duration `env:"AGNTCHAT_RELAY_LEASE" envDefault:"30s"`

	Streams           int `env:"AGNTCHAT_RELAY_STREAMS" envDefault:"10000"`
	StreamsPerAddress int `env:"AGNTCHAT_RELAY_STREAMS_PER_ADDRESS" envDefault:"100"`
	StreamsPerSender  int `env:"AGNTCHAT_RELAY_STREAMS_PER_SENDER" envDefault:"4"`
}

// Burst is how many calls one sender may make at once.
func (r Relay) Burst() int { return cmp.Or(r.RateBurst, r.RateLimit) }

// Check tells what is wrong with the settings, all of it.
func (r Relay) Check() error {
	var errs []error
	if r.Mount != "on" && r.Mount != "off" {
		errs = append(errs, errors.New("AGNTCHAT_RELAY must be on or off"))
	}
	if r.MaxBody <= 0 || r.Lease <= 0 || r.Timeout <= 0 {
		errs = append(errs, errors.New("the relay's largest body, lease and timeout must be positive (AGNTCHAT_RELAY_MAX_BODY, AGNTCHAT_RELAY_LEASE, AGNTCHAT_RELAY_TIMEOUT)"))
	}
	for _, a := range r.Audiences {
		if !strings.HasPrefix(a, "http://") && !strings.HasPrefix(a, "https://") {
			errs = append(errs, errors.New("the relay's audience must be web addresses, separated by commas (AGNTCHAT_RELAY_AUDIENCE)"))
		}
	}
	return errors.Join(errs...)
}

// LogValue prints it without the password.
func (r Relay) LogValue() slog.Value {
	return slog.GroupValue(slog.String("mount", r.Mount), slog.Any("audiences", r.Audiences), slog.Bool("admin", r.AdminPassword != ""),
		slog.Bool("require_api_key", r.RequireAPIKey), slog.Int("rate_limit", r.RateLimit), slog.Int("max_mailbox", r.MaxMailbox))
}

// fromRetalk maps what a retalk server reads to what we read, so that it can be
// replaced without a change of its environment.
var fromRetalk = map[string]string{
	"RETALK_SERVER_AUDIENCE": "AGNTCHAT_RELAY_AUDIENCE", "RETALK_SERVER_MAX_BODY": "AGNTCHAT_RELAY_MAX_BODY", "RETALK_SERVER_RATE_LIMIT": "AGNTCHAT_RELAY_RATE_LIMIT",
	"RETALK_SERVER_TIMEOUT": "AGNTCHAT_RELAY_TIMEOUT", "RETALK_SERVER_MAX_MAILBOX": "AGNTCHAT_RELAY_MAX_MAILBOX",
	"RETALK_SERVER_MAX_MAILBOX_PER_SENDER": "AGNTCHAT_RELAY_MAX_MAILBOX_PER_SENDER", "RETALK_SERVER_MAX_GROUP_SIZE": "AGNTCHAT_RELAY_MAX_GROUP_SIZE",
	"RETALK_SERVER_ADMIN_PASSWORD": "AGNTCHAT_RELAY_ADMIN_PASSWORD", "RETALK_SERVER_REQUIRE_API_KEY": "AGNTCHAT_RELAY_REQUIRE_API_KEY",
}

// adoptRetalk fills variables of the relay that are not set from those of a retalk server. A host that is not named is this machine, not
// every network as there.
func adoptRetalk(environ map[string]string) {
	host, port := environ["RETALK_SERVER_HOST"], environ["RETALK_SERVER_PORT"]
	if _, set := environ["AGNTCHAT_RELAY_ADDR"]; !set && (host != "" || port != "") {
		environ["AGNTCHAT_RELAY_ADDR"] = net.JoinHostPort(cmp.Or(host, "127.0.0.1"), cmp.Or(port, "8766"))
	}
	for theirs, ours := range fromRetalk {
		v, given := environ[theirs]
		if _, set := environ[ours]; set || !given {
			continue
		}
		switch theirs {
		case "RETALK_SERVER_TIMEOUT":
			if n, err := strconv.ParseFloat(v, 64); err == nil {
				v = fmt.Sprintf("%gs", n)
			}
		case "RETALK_SERVER_REQUIRE_API_KEY":
			switch strings.ToLower(v) {
			case "1", "true", "yes", "on":
				v = "true"
			default:
				v = "false"
			}
		}
		environ[ours] = v
	}
}
