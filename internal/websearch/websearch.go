// Package websearch finds pages on the web through a provider with a key. Without
// one there is no search: nothing here makes results up.
package websearch

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/outbound"
)

// Query is what is looked for.
type Query struct {
	Words string
	Count int    // results, 1 to 20
	Fresh string // "" | day | week | month | year: how old results may be
}

// Hit is one page that was found.
type Hit struct {
	Title   string
	URL     string
	Snippet string
	Age     string // as the provider says it, may be empty
}

// Provider is a search engine.
type Provider interface {
	Search(ctx context.Context, q Query) ([]Hit, error)
}

// Brave is the Brave Search API.
type Brave struct {
	Client *outbound.Client
	Key    string
	URL    string // https://api.search.brave.com/res/v1/web/search when empty
}

const braveURL = "https://api.search.brave.com/res/v1/web/search"

var tags = regexp.MustCompile(`</?[a-zA-Z][^>]*>`)

// Search implements Provider.
func (b *Brave) Search(ctx context.Context, q Query) ([]Hit, error) {
	base := b.URL
	if base == "" {
		base = braveURL
	}
	v := url.Values{"q": {q.Words}, "count": {strconv.Itoa(q.Count)}}
	if f, ok := map[string]string{"day": "pd", "week": "pw", "month": "pm", "year": "py"}[q.Fresh]; ok {
		v.Set("freshness", f)
	}
	res, err := b.Client.Do(ctx, outbound.Request{
		URL: base + "?" + v.Encode(), SameHost: true, Header: http.Header{"Accept": {"application/json"}, "X-Subscription-Token": {b.Key}},
	})
	switch {
	case err != nil:
		return nil, err
	case res.Status == http.StatusTooManyRequests:
		return nil, fault.New(fault.Exhausted, "search_exhausted", "The search provider's limit is reached. Try again later.")
	case res.Status != http.StatusOK:
		return nil, fault.Newf(fault.Conflict, "search_failed", "The search provider answered with status %d.", res.Status)
	}
	var body struct {
		Web struct {
			Results []struct{ Title, URL, Description, Age string }
		}
	}
	if err := json.Unmarshal(res.Body, &body); err != nil {
		return nil, fault.New(fault.Conflict, "search_failed", "The search provider's answer cannot be read.").Because(err)
	}
	var out []Hit
	for _, r := range body.Web.Results {
		if u, err := outbound.ParseURL(r.URL); err == nil && len(out) < q.Count {
			out = append(out, Hit{Title: plain(r.Title), URL: u.String(), Snippet: plain(r.Description), Age: plain(r.Age)})
		}
	}
	return out, nil
}

// plain takes the marks of found words out.
func plain(s string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(s, ""))), " ")
}
