// Package document turns what is written for people into text for models, and the
// text of models into files for people. It stores nothing and calls nobody.
package document

import (
	"bytes"
	"context"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html/charset"

	"github.com/agntchat/agntchat/internal/fault"
)

// Text is what can be read of a page or a file.
type Text struct {
	Title  string
	Byline string
	Body   string
}

// ErrUnreadable says that a kind of file holds no text that can be taken out here.
var ErrUnreadable = fault.New(fault.Invalid, "unreadable_type", "This kind of file cannot be read as text.")

// maxHTML bounds what is parsed of a page, in bytes.
const maxHTML = 4 << 20

// Readable takes the text out of content of this media type. Of a web page it is
// the article without menus, advertisements and scripts; where none is recognised,
// all of its text. from is where the page is from; it may be nil. Reading a PDF may
// block for a while; PDFText has its errors.
func Readable(ctx context.Context, contentType string, content []byte, from *url.URL) (Text, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "" || kind == "application/octet-stream" {
		kind, _, _ = mime.ParseMediaType(sniff(content))
	}
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		return page(decode(contentType, content), from)
	case kind == "application/pdf":
		body, err := PDFText(ctx, content)
		return Text{Body: body}, err
	case TextType(kind):
		return Text{Body: tidy(decode(contentType, content))}, nil
	default:
		return Text{}, ErrUnreadable
	}
}

// Extractable reports a media type whose text can be taken out.
func Extractable(kind string) bool {
	base, _, _ := strings.Cut(kind, ";")
	return TextType(kind) || strings.EqualFold(strings.TrimSpace(base), "application/pdf")
}

// TextType reports a media type whose content is text as it is.
func TextType(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
	case "application/json", "application/xml", "application/javascript", "application/x-yaml", "application/yaml", "application/toml", "application/sql",
		"application/x-sh", "application/x-ndjson", "application/ld+json", "image/svg+xml", "message/rfc822":
		return true
	default:
		return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
	}
}

// sniff tells text from everything else, for servers and uploads that do not say.
func sniff(content []byte) string {
	head := content[:min(len(content), 4096)]
	low := strings.ToLower(string(head))
	switch {
	case bytes.HasPrefix(content, []byte("%PDF-")):
		return "application/pdf"
	case strings.Contains(low, "<!doctype html") || strings.Contains(low, "<html"):
		return "text/html"
	case !bytes.ContainsRune(head, 0) && utf8.Valid(bytes.ToValidUTF8(head, nil)) && len(bytes.ToValidUTF8(head, nil)) > len(head)-4:
		return "text/plain"
	default:
		return "application/octet-stream"
	}
}

// decode gives UTF-8, whatever the content's own encoding.
func decode(contentType string, content []byte) string {
	if len(content) > maxHTML {
		content = content[:maxHTML]
	}
	if !utf8.Valid(content) {
		enc, _, _ := charset.DetermineEncoding(content[:min(len(content), 1024)], contentType)
		if out, err := enc.NewDecoder().Bytes(content); err == nil {
			content = out
		}
	}
	return strings.ToValidUTF8(string(content), "\uFFFD")
}

func page(html string, from *url.URL) (Text, error) {
	if strings.Count(html, "<") > 200_000 {
		return Text{}, fault.New(fault.Invalid, "page_too_complex", "The page is too complex to be read.")
	}
	p := readability.NewParser()
	p.MaxElemsToParse = 60_000
	art, err := p.Parse(strings.NewReader(html), from)
	if err != nil {
		return Text{}, fault.New(fault.Invalid, "page_too_complex", "The page cannot be read.").Because(err)
	}
	var b strings.Builder
	if art.Node != nil {
		if err := art.RenderText(&b); err != nil {
			return Text{}, fault.New(fault.Invalid, "page_too_complex", "The page cannot be read.").Because(err)
		}
	}
	out := Text{Title: oneLine(art.Title()), Byline: oneLine(art.Byline()), Body: tidy(b.String())}
	if out.Body == "" {
		out.Body = allText(html)
	}
	return out, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// tidy ends lines properly and takes out runs of empty ones, and characters that
// nobody sees but a model reads.
func tidy(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ' || r == 0x7f || (r >= 0x200b && r <= 0x200f) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2060 && r <= 0x206f) || r == 0xfeff || (r >= 0xe0000 && r <= 0xe007f):
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	lines := strings.Split(s, "\n")
	out := lines[:0]
	empty := 0
	for _, l := range lines {
		l = strings.TrimRight(l, " \t\u00a0")
		if l == "" {
			if empty++; empty > 1 {
				continue
			}
		} else {
			empty = 0
		}
		out = append(out, l)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
