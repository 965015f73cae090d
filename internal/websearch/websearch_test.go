package websearch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/websearch"
)

func TestK3_BraveIsAskedAndRead(t *testing.T) {
	t.Parallel()
	status, asked := 200, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery + " " + r.Header.Get("X-Subscription-Token")
		w.WriteHeader(status)
		fmt.Fprint(w, `{"type":"search","web":{"results":[
			{"title":"The <strong>tide</strong> &amp; you","url":"https://example.com/a","description":"In  and <strong>out</strong>","age":"2 days ago"},
			{"title":"bad","url":"javascript:alert(1)","description":""},{"title":"B","url":"https://example.com/b","description":"b"},{"title":"C","url":"https://example.com/c"}]}}`)
	}))
	defer s.Close()
	c := outbound.New(outbound.Config{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	defer c.Close()
	b := &websearch.Brave{Client: c, Key: "k-1", URL: s.URL}
	got, err := b.Search(t.Context(), websearch.Query{Words: "tide tables", Count: 2, Fresh: "week"})
	if err != nil || len(got) != 2 || got[0] != (websearch.Hit{"The tide & you", "https://example.com/a", "In and out", "2 days ago"}) || got[1].URL != "https://example.com/b" {
		t.Fatalf("%v %+v", err, got)
	}
	if asked != "count=2&freshness=pw&q=tide+tables k-1" {
		t.Errorf("asked %q", asked)
	}
	for s, code := range map[int]string{429: "search_exhausted", 401: "search_failed"} {
		status = s
		if _, err := b.Search(t.Context(), websearch.Query{Words: "x", Count: 1}); !fault.Is(err, code) {
			t.Errorf("%d: %v", s, err)
		}
	}
}
