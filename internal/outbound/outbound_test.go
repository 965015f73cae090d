package outbound_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/outbound"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func client(t *testing.T, cfg outbound.Config) *outbound.Client {
	t.Helper()
	c := outbound.New(cfg)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

// Nothing of the server's own network answers, in whatever spelling.
func TestK3_OwnNetworkIsOutOfReach(t *testing.T) {
	t.Parallel()
	hit := false
	own := serve(t, func(http.ResponseWriter, *http.Request) { hit = true })
	port := own[strings.LastIndex(own, ":"):]
	c := client(t, outbound.Config{})
	for _, host := range []string{
		"127.0.0.1" + port, "localhost" + port, "[::1]" + port, "[::ffff:127.0.0.1]" + port, "127.1" + port, "2130706433" + port, "0x7f.1" + port, "0.0.0.0" + port, "[::]" + port,
		"10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "255.255.255.255",
		"[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:db8::1]", "[::7f00:1]", "[ff02::1]",
		"168.63.129.16", "100.100.100.200", "192.0.0.192", "169.254.170.2", "[::ffff:0:7f00:1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "0177.0.0.1" + port, "127.0.0.1." + port, "0" + port,
		"\uff11\uff12\uff17.0.0.1" + port, "127\u30020\u30020\u30021" + port, "[::1%25lo]" + port, "[0:0:0:0:0:ffff:7f00:1]" + port,
	} {
		_, err := c.Do(t.Context(), outbound.Request{URL: "http://" + host + "/"})
		if got := code(err); got != "address_forbidden" && got != "unreachable" && got != "bad_url" {
			t.Errorf("%s: %v", host, err)
		}
	}
	if hit {
		t.Error("the own server was reached")
	}
}

// A public address of this machine is no way in either.
func TestK3_OwnPublicAddressIsOutOfReach(t *testing.T) {
	t.Parallel()
	c := client(t, outbound.Config{})
	c.Own("93.184.215.14/24", "2606:2800:21f:cb07::1/64")
	for _, host := range []string{"93.184.215.14", "93.184.215.14:5432", "[2606:2800:21f:cb07::1]", "[::ffff:93.184.215.14]"} {
		if _, err := c.Do(t.Context(), outbound.Request{URL: "http://" + host + "/"}); code(err) != "address_forbidden" {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestK3_OnlyPublicAddressesPass(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true, "::ffff:10.1.2.3": false, "127.0.0.1": false, "10.255.0.1": false,
		"172.31.0.1": false, "172.32.0.1": true, "192.168.0.1": false, "169.254.1.1": false, "100.127.0.1": false, "100.128.0.1": true, "::1": false, "fe80::1": false,
		"fd12::1": false, "64:ff9b::808:808": false, "2002:808:808::": false, "203.0.113.9": false, "240.0.0.1": false, "0.1.2.3": false,
	} {
		if got := outbound.Public(netip.MustParseAddr(s)); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestK3_AddressesAreWebAddresses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "file:///etc/passwd", "gopher://x/", "ftp://x/", "http://", "https:///x", "http://user:pw@example.com/", "//example.com", "http://exa mple.com", "http://x/" + strings.Repeat("a", 5000)} {
		if _, err := outbound.ParseURL(raw); code(err) != "bad_url" {
			t.Errorf("%.40q: %v", raw, err)
		}
	}
}

// Every step of a redirect is checked like the first address.
func TestK3_RedirectsAreChecked(t *testing.T) {
	t.Parallel()
	secret := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") })
	c := client(t, outbound.Config{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	away := ""
	from := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			fmt.Fprint(w, "here", r.Header.Get("Referer"), r.Header.Get("Cookie"))
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, away, http.StatusFound)
	})
	do := func(to string, same bool) (outbound.Response, error) {
		away = to
		return c.Do(t.Context(), outbound.Request{URL: from + "/start", SameHost: same})
	}
	if res, err := do("/end", true); err != nil || string(res.Body) != "here" || res.URL.Path != "/end" {
		t.Errorf("within a host: %v %s", err, res.Body)
	}
	if _, err := do("/start", false); code(err) != "too_many_redirects" {
		t.Errorf("a circle: %v", err)
	}
	if _, err := do("file:///etc/passwd", false); code(err) != "bad_url" {
		t.Errorf("to a file: %v", err)
	}
	if _, err := do("http://169.254.169.254/latest/meta-data", false); code(err) != "address_forbidden" {
		t.Errorf("to the own network: %v", err)
	}
	if _, err := do(secret, true); code(err) != "redirected_elsewhere" {
		t.Errorf("a secret elsewhere: %v", err)
	}
}

func TestK3_SizeAndTimeAreBounded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-release
		}
		fmt.Fprint(w, strings.Repeat("x", 5000), r.Header.Get("User-Agent"))
	})
	defer close(release)
	c := client(t, outbound.Config{Trusted: loopback, Timeout: 200 * time.Millisecond, UserAgent: "tester/2"})
	res, err := client(t, outbound.Config{Trusted: loopback, UserAgent: "tester/2"}).Do(t.Context(), outbound.Request{URL: url, MaxBody: 1000})
	if err != nil || len(res.Body) != 1000 || !res.Truncated {
		t.Errorf("large: %v, %d bytes", err, len(res.Body))
	}
	if _, err := c.Do(t.Context(), outbound.Request{URL: url + "/slow"}); code(err) != "fetch_timed_out" {
		t.Errorf("slow: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(gone, outbound.Request{URL: url}); err == nil || fault.KindOf(err) != fault.Internal {
		t.Errorf("cancelled: %v", err)
	}
}

func TestK3_RobotsAreObeyed(t *testing.T) {
	t.Parallel()
	status, asked := 200, 0
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(status)
		fmt.Fprint(w, "User-agent: agntchat\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n")
	})
	c := client(t, outbound.Config{Trusted: loopback})
	may := func(r *outbound.Robots, path string) string {
		u, _ := url.Parse(site + path)
		return code(r.Check(t.Context(), u))
	}
	r := outbound.NewRobots(c)
	if may(r, "/open") != "" || may(r, "") != "" || may(r, "/private/x") != "robots_disallow" || asked != 1 {
		t.Errorf("rules are not followed, or asked for %d times", asked)
	}
	status = 404
	if may(outbound.NewRobots(c), "/private") != "" {
		t.Error("a site without rules allows all")
	}
	status = 503
	if may(outbound.NewRobots(c), "/open") != "robots_disallow" {
		t.Error("a site whose rules cannot be read allows nothing")
	}
}
