package memory

import (
	"encoding/json"
	"regexp"
	"sort"
	"strings"
)

// Tagged is something to remember that stands in an agent's words as
// <memory>…</memory> or <family_memory>…</family_memory> (bridge contract 3.3, 5.7).
type Tagged struct {
	Family   bool
	Write    Write
	from, to int // bytes of the whole tag in the text
}

// MaxTagged bounds how many tags of one message are read, and mostTries how many are
// looked at.
const (
	MaxTagged = 20
	mostTries = 200
)

var (
	openTag  = regexp.MustCompile(`(?i)<(memory|family_memory)((?:\s+[a-z_]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*)\s*>`)
	closeTag = regexp.MustCompile(`(?i)</(memory|family_memory)\s*>`)
	attrPat  = regexp.MustCompile(`(?i)([a-z_]+)\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')`)
)

// Tags finds what an agent's text wants remembered. Inside of a tag stands the JSON
// object that the tools save_agent_memory and save-family-memory take, or plain text
// with category and key as attributes. Tags in code, tags without an end and tags
// that say nothing that can be stored are no tags: they stay words.
func Tags(text string) []Tagged {
	if !strings.Contains(text, "<") || !openTag.MatchString(text) {
		return nil
	}
	code, ends := codeSpans(text), closings(text)
	var out []Tagged
	for at, tries := 0, 0; at < len(text) && len(out) < MaxTagged && tries < mostTries; tries++ {
		m := openTag.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		from, inner := at+m[0], at+m[1]
		name := strings.ToLower(text[at+m[2] : at+m[3]])
		at = inner
		if inCode(code, from) {
			continue
		}
		end, ok := ends.after(name, inner)
		if !ok {
			continue
		}
		body := text[inner:end[0]]
		if openTag.MatchString(body) { // the end of another one
			continue
		}
		w, ok := tagged(text[from:inner], body)
		if !ok {
			continue
		}
		to := end[1]
		out = append(out, Tagged{Family: name == "family_memory", Write: w, from: from, to: to})
		at = to
	}
	return out
}

// ends are where the closing tags of a name stand, in order: every opening one is
// looked up, so that a text of nothing but opening tags costs no more than another.
type ends map[string][][2]int

func closings(text string) ends {
	out := ends{}
	for _, m := range closeTag.FindAllStringSubmatchIndex(text, -1) {
		name := strings.ToLower(text[m[2]:m[3]])
		out[name] = append(out[name], [2]int{m[0], m[1]})
	}
	return out
}

// after is the first closing tag of a name at or behind a byte.
func (e ends) after(name string, at int) ([2]int, bool) {
	list := e[name]
	n := sort.Search(len(list), func(i int) bool { return list[i][0] >= at })
	if n == len(list) {
		return [2]int{}, false
	}
	return list[n], true
}

// Without is the text without these tags, and without the empty lines that they leave.
func Without(text string, tags []Tagged) string {
	var b strings.Builder
	at := 0
	for _, t := range tags {
		before, after := text[at:t.from], text[t.to:]
		if line := strings.TrimRight(before, " \t"); (line == "" || strings.HasSuffix(line, "\n")) && strings.HasPrefix(strings.TrimLeft(after, " \t\r"), "\n") {
			before = line
			t.to += strings.Index(after, "\n") + 1 // it had a line of its own
		}
		b.WriteString(before)
		at = t.to
	}
	b.WriteString(text[at:])
	if len(tags) == 0 {
		return text
	}
	return strings.TrimSpace(b.String())
}

// Shown is what people may see of a text that is still being written: without tags, and
// without one that has begun and not ended yet.
func Shown(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	text = Without(text, Tags(text))
	at := strings.LastIndexByte(text, '<')
	unfinished := at >= 0 && len(text)-at < mostOpening && begins(strings.ToLower(text[at:]))
	if !unfinished && !openTag.MatchString(text) { // most texts: nothing needs to be looked at closely
		return text
	}
	code, ends := codeSpans(text), closings(text)
	for _, m := range openTag.FindAllStringSubmatchIndex(text, -1) {
		if _, ended := ends.after(strings.ToLower(text[m[2]:m[3]]), m[1]); !ended && !inCode(code, m[0]) {
			return strings.TrimRight(text[:m[0]], " \t\r\n")
		}
	}
	if !unfinished || inCode(code, at) {
		return text
	}
	return strings.TrimRight(text[:at], " \t\r\n")
}

// mostOpening bounds the opening of a tag, in bytes.
const mostOpening = 4000

// begins says that a text may become the opening of a tag.
func begins(s string) bool {
	for _, name := range []string{"<memory", "<family_memory"} {
		rest, ok := strings.CutPrefix(s, name)
		if strings.HasPrefix(name, s) || (ok && !strings.Contains(rest, ">") && strings.TrimLeft(rest, " \t\r\n") != rest) {
			return true
		}
	}
	return false
}

// tagged reads one tag; ok is false when nothing in it can be stored.
func tagged(open, body string) (w Write, ok bool) {
	for _, a := range attrPat.FindAllStringSubmatch(open, -1) {
		v := a[2] + a[3]
		switch strings.ToLower(a[1]) {
		case "category":
			w.Category = v
		case "key":
			w.Key = v
		case "description":
			w.Description = &v
		case "tags":
			tags := strings.Split(v, ",")
			w.Tags = &tags
		}
	}
	body = strings.TrimSpace(body)
	if strings.HasPrefix(body, "{") {
		var in object
		if json.Unmarshal([]byte(body), &in) != nil {
			return w, false
		}
		if in.Category != "" {
			w.Category = in.Category
		}
		if in.Key != "" {
			w.Key = in.Key
		}
		w.Content, w.Confidence, w.Metadata = in.Content, in.Confidence, in.Metadata
		if in.Description != nil {
			w.Description = in.Description
		}
		if in.Tags != nil {
			w.Tags = in.Tags
		}
	} else {
		w.Content = body
	}
	return w, w.Clean() == nil
}

// Bubbles takes <msg> tags away: what stands in each becomes a paragraph. Tags in code
// and without an end stay.
func Bubbles(text string) string {
	if !strings.Contains(strings.ToLower(text), "</msg>") {
		return text
	}
	code := codeSpans(text)
	var parts []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, s)
		}
	}
	at := 0
	for _, m := range msgTag.FindAllStringSubmatchIndex(text, -1) {
		if inCode(code, m[0]) || inCode(code, m[1]-1) {
			continue
		}
		add(text[at:m[0]])
		add(text[m[2]:m[3]])
		at = m[1]
	}
	if at == 0 {
		return text
	}
	add(text[at:])
	return strings.Join(parts, "\n\n")
}

var msgTag = regexp.MustCompile(`(?is)<msg(?:\s[^<>]*)?>(.*?)</msg>`)

// codeSpans are the bytes of a Markdown text that are code: fenced blocks, which run
// to the end when they are not closed, and spans between backticks.
func codeSpans(text string) [][2]int {
	var out [][2]int
	fence, start := "", 0
	for at := 0; at < len(text); {
		next := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		line := strings.TrimLeft(text[at:next], " \t>")
		mark := fenceMark(line)
		switch {
		case fence == "" && mark != "":
			fence, start = mark, at
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(strings.TrimLeft(line, fence[:1])) == "":
			out, fence = append(out, [2]int{start, next}), ""
		case fence == "":
			out = append(out, inlineCode(text[at:next], at)...)
		}
		at = next
	}
	if fence != "" {
		out = append(out, [2]int{start, len(text)})
	}
	return out
}

// fenceMark is the run of backticks or tildes that begins a line, if it is a fence.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

// inlineCode are the spans between equal runs of backticks within a line.
func inlineCode(line string, base int) [][2]int {
	var out [][2]int
	for at := 0; at < len(line); {
		open := strings.IndexByte(line[at:], '`')
		if open < 0 {
			break
		}
		open += at
		n := len(line[open:]) - len(strings.TrimLeft(line[open:], "`"))
		end := -1
		for from := open + n; from < len(line); {
			i := strings.IndexByte(line[from:], '`')
			if i < 0 {
				break
			}
			i += from
			k := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			if k == n {
				end = i + k
				break
			}
			from = i + k
		}
		if end < 0 {
			at = open + n
			continue
		}
		out = append(out, [2]int{base + open, base + end})
		at = end
	}
	return out
}

func inCode(code [][2]int, at int) bool {
	n := sort.Search(len(code), func(i int) bool { return code[i][1] > at })
	return n < len(code) && at >= code[n][0]
}
