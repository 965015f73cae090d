package document

import (
	"strings"

	"golang.org/x/net/html"
)

// skipped elements hold no text for readers.
var skipped = map[string]bool{"script": true, "style": true, "noscript": true, "template": true, "svg": true, "iframe": true, "head": true}

// blocks begin a line of their own.
var blocks = map[string]bool{"p": true, "div": true, "section": true, "article": true, "li": true, "tr": true, "br": true, "h1": true, "h2": true, "h3": true, "h4": true,
	"h5": true, "h6": true, "pre": true, "blockquote": true, "table": true, "ul": true, "ol": true, "dt": true, "dd": true, "hr": true, "header": true, "footer": true, "main": true, "nav": true}

// allText is the text of a page in which no article was recognised. It reads
// tokens, so that no nesting is too deep for it.
func allText(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	z.SetMaxBuf(1 << 20)
	var b strings.Builder
	skip := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return tidy(b.String())
		case html.TextToken:
			if skip == 0 {
				b.WriteString(string(z.Text()))
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if skipped[string(name)] {
				skip++
			} else if blocks[string(name)] {
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if skipped[string(name)] && skip > 0 {
				skip--
			} else if blocks[string(name)] {
				b.WriteByte('\n')
			}
		case html.SelfClosingTagToken:
			if name, _ := z.TagName(); blocks[string(name)] {
				b.WriteByte('\n')
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}
