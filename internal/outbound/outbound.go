// Package outbound is the one way in which the server calls addresses that agents
// or people name: it never reaches the server's own network, whatever a name
// resolves to at whatever moment, and it bounds time, size and redirects. It knows
// no feature.
package outbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
)

// Config of a Client. Zero fields take the defaults that stand with them.
type Config struct {
	// Trusted may be reached although they are private, on any port: an intranet.
	Trusted []netip.Prefix
	// Timeout of a whole call with its redirects (20 s).
	Timeout time.Duration
	// UserAgent names this server; its first word, up to the slash, is what rules for
	// robots are looked up by (agntchat/1.0).
	UserAgent string
}

// Client makes calls. It keeps no cookies, uses no proxy and sends no Referer.
type Client struct {
	cfg  Config
	http *http.Client
	own  func() ([]net.Addr, error) // the addresses of this machine
}

// maxRedirects bounds a chain.
const maxRedirects = 5

// New makes a client.
func New(cfg Config) *Client {
	if cfg.Timeout == 0 {
		cfg.Timeout = 20 * time.Second
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "agntchat/1.0"
	}
	c := &Client{cfg: cfg, own: net.InterfaceAddrs}
	// The address is checked where the connection is made, after every resolution: a
	// name that changes between a check and the call reaches nothing.
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: c.control}
	c.http = &http.Client{
		Timeout: cfg.Timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: cfg.Timeout,
			MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 50, MaxIdleConnsPerHost: 2, MaxConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errTooMany
			}
			if own, _ := r.Context().Value(sameHostKey{}).(bool); own && (r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme) {
				return errElsewhere
			}
			r.Header.Del("Referer")
			return checkURL(r.URL)
		},
	}
	return c
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

type sameHostKey struct{}

var (
	errTooMany   = fault.Newf(fault.Invalid, "too_many_redirects", "The address redirects more than %d times.", maxRedirects)
	errElsewhere = fault.New(fault.Forbidden, "redirected_elsewhere", "The service redirects to another server.")
	errForbidden = fault.New(fault.Forbidden, "address_forbidden", "This address is not on the public internet.")
	errPort      = fault.New(fault.Forbidden, "address_forbidden", "This port may not be reached.")
	errURL       = fault.New(fault.Invalid, "bad_url", "This is not a web address: it must begin with http:// or https:// and name a host.")
)

// Request is one call.
type Request struct {
	Method string // GET when empty
	URL    string
	Header http.Header // Host, Connection and the like are not taken
	Body   []byte
	// MaxBody bounds the bytes of the answer that are read (2 MiB), after decompression.
	MaxBody int64
	// SameHost forbids redirects to another host or scheme: set it when the request
	// carries a secret.
	SameHost bool
}

// Response is an answer. Truncated says that it has more bytes than were read.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated bool
	URL       *url.URL // after redirects
}

// ParseURL checks a web address without calling it: http or https, a host, no
// user and password in it.
func ParseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || len(raw) > 4096 {
		return nil, errURL
	}
	return u, checkURL(u)
}

func checkURL(u *url.URL) error {
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		return errURL
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.Zone() != "" {
		return errForbidden
	}
	return nil
}

// Do makes the call. Failures are faults that may be shown; answers of any status
// are no failure.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	u, err := ParseURL(r.URL)
	if err != nil {
		return Response{}, err
	}
	if r.SameHost {
		ctx = context.WithValue(ctx, sameHostKey{}, true)
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.MaxBody == 0 {
		r.MaxBody = 2 << 20
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return Response{}, errURL.Because(err)
	}
	for k, v := range r.Header {
		if !slices.Contains(ownHeaders, http.CanonicalHeaderKey(k)) {
			req.Header[http.CanonicalHeaderKey(k)] = v
		}
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	res, err := c.http.Do(req)
	if err != nil {
		return Response{}, shown(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, r.MaxBody+1))
	if err != nil {
		return Response{}, shown(ctx, err)
	}
	out := Response{Status: res.StatusCode, Header: res.Header, Body: body, URL: res.Request.URL}
	if int64(len(body)) > r.MaxBody {
		out.Body, out.Truncated = body[:r.MaxBody], true
	}
	return out, nil
}

// ownHeaders belong to the connection.
var ownHeaders = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Expect", "Referer", "Cookie"}

// shown turns a failure into a sentence without addresses of ours. The address that was
// called is not in its cause either: a secret may stand in the query.
func shown(ctx context.Context, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return fault.New(fault.Exhausted, "fetch_timed_out", "The server did not answer in time.").Because(err)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return fault.New(fault.NotFound, "unreachable", "This host is not known.").Because(err)
	}
	return fault.New(fault.NotFound, "unreachable", "The server could not be reached, or its answer is broken.").Because(err)
}

// control runs between resolution and connection, with the address that is dialled.
func (c *Client) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial %q: %w", address, err)
	}
	ip := at.Addr().Unmap()
	if slices.ContainsFunc(c.cfg.Trusted, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return nil
	}
	if !public(ip) {
		return errForbidden
	}
	if err := c.notOwn(ip); err != nil {
		return err
	}
	if p := at.Port(); p != 80 && p != 443 && p < 1024 {
		return errPort.Because(errors.New("port " + strconv.Itoa(int(p))))
	}
	return nil
}

// notOwn refuses a public address that is this machine's own: what listens here behind
// a firewall answers whoever calls from inside.
func (c *Client) notOwn(ip netip.Addr) error {
	list, err := c.own()
	if err != nil {
		return errForbidden.Because(err)
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if at, ok := netip.AddrFromSlice(n.IP); ok && at.Unmap() == ip {
				return errForbidden
			}
		}
	}
	return nil
}

// Trusts reports an address that names a host of a trusted network by its number.
func (c *Client) Trusts(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && slices.ContainsFunc(c.cfg.Trusted, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}
