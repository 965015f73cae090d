package document_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/document"
	"github.com/agntchat/agntchat/internal/fault"
)

func article(body string) string {
	return `<!doctype html><html><head><title>Tides  of
	March</title><style>p{}</style></head><body><nav><a href="/">Home</a><a href="/x">Shop</a></nav><article><h1>Tides of March</h1>` + body +
		`</article><script>steal()</script><footer>Imprint</footer></body></html>`
}

func TestK3_PagesAreReadable(t *testing.T) {
	t.Parallel()
	from, _ := url.Parse("https://example.com/tides")
	long := strings.Repeat("<p>The tide comes in and the tide goes out, and the harbour master writes both down in the book, every day of the year.</p>", 10)
	got, err := document.Readable(t.Context(), "text/html; charset=utf-8", []byte(article(long)), from)
	if err != nil || !strings.Contains(got.Title, "Tides of March") || strings.Count(got.Body, "harbour master") != 10 || strings.Contains(got.Body, "steal") || strings.Contains(got.Body, "Shop") {
		t.Fatalf("%v %+v", err, got)
	}
	short, err := document.Readable(t.Context(), "text/html", []byte(`<html><body><div>Only <b>this</b></div><script>x</script></body></html>`), from)
	if err != nil || short.Body != "Only this" {
		t.Errorf("%v %q", err, short.Body)
	}
}

func TestK3_TextIsCleaned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ kind, in, want string }{
		"json":           {"application/json", `{"a":1}`, `{"a":1}`},
		"hidden letters": {"text/plain", "a\u200bb\u202ec\U000e0041d\x00e\r\n\n\n\nf  ", "abcde\n\nf"},
		"latin 1":        {"text/plain; charset=iso-8859-1", "caf\xe9", "café"},
		"gb18030":        {"text/html; charset=gb18030", "<html><body><p>\xc4\xe3\xba\xc3</p></body></html>", "你好"},
		"unknown kind":   {"", "plain words", "plain words"},
	} {
		if got, err := document.Readable(t.Context(), tc.kind, []byte(tc.in), nil); err != nil || got.Body != tc.want {
			t.Errorf("%s: %v %q", name, err, got.Body)
		}
	}
	for _, kind := range []string{"image/png", "application/zip", ""} {
		if _, err := document.Readable(t.Context(), kind, []byte("\x89PNG\x00\x01\x02"), nil); !fault.Is(err, "unreadable_type") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestK3_HostilePagesEnd(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"deep":  "<html><body>" + strings.Repeat("<div>", 150_000) + "x",
		"wide":  "<html><body>" + strings.Repeat("<p>x</p>", 50_000),
		"tags":  "<html><body>" + strings.Repeat("<", 300_000),
		"table": "<html><body>" + strings.Repeat("<table><tr><td>", 20_000) + "x",
	} {
		if _, err := document.Readable(t.Context(), "text/html", []byte(page), nil); err != nil && fault.KindOf(err) == fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
}
