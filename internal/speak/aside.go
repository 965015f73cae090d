package speak

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Aside is one <dm> block of an agent's text (row H1): what it says to some of the
// others, apart from the room.
type Aside struct {
	Targets []string // names as written, without an @ before them
	Topic   string
	Goal    string
	Body    string
}

var (
	asideTag  = regexp.MustCompile(`(?i)<dm((?:\s+[a-z_]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*>|</dm\s*>`)
	asideAttr = regexp.MustCompile(`(?i)([a-z_]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	asideOpen = regexp.MustCompile(`(?i)<dm(?:[\s>]|$)`)
)

// maxNested bounds how deep blocks may stand in blocks: what stands in one is copied once
// for each block around it.
const maxNested = 16

// Asides takes the <dm target="A, B" topic="…" goal="…">…</dm> blocks out of a text,
// in the order in which they begin, and gives what is left for the room. Nested
// blocks stand for themselves: the inner one is no part of what the outer says.
// Blocks in code, blocks without a target or without words, a block that is never
// closed and one in more than maxNested others are no blocks: they stay in the text as
// they were written.
func Asides(text string) (rest string, found []Aside) {
	if !asideOpen.MatchString(text) {
		return text, nil
	}
	code := codeMap(text)
	type open struct {
		tag   string // as written
		aside Aside
		at    int // in found
		body  strings.Builder
	}
	var out strings.Builder
	var stack []*open
	write := func(s string) {
		if n := len(stack); n > 0 {
			stack[n-1].body.WriteString(s)
			return
		}
		out.WriteString(s)
	}
	var blocks []*Aside
	from, tooDeep := 0, 0
	for _, m := range asideTag.FindAllStringSubmatchIndex(text, -1) {
		if code[m[0]] {
			continue
		}
		tag := text[m[0]:m[1]]
		write(text[from:m[0]])
		from = m[1]
		if !strings.HasPrefix(tag, "</") {
			if len(stack) == maxNested {
				tooDeep++
				write(tag)
				continue
			}
			attrs := ""
			if m[2] >= 0 {
				attrs = text[m[2]:m[3]]
			}
			a := aside(attrs)
			stack = append(stack, &open{tag: tag, aside: a, at: len(blocks)})
			blocks = append(blocks, nil)
			continue
		}
		n := len(stack)
		if n == 0 || tooDeep > 0 {
			tooDeep = max(tooDeep-1, 0)
			write(tag)
			continue
		}
		top := stack[n-1]
		stack = stack[:n-1]
		body := strings.TrimSpace(top.body.String())
		if body == "" || len(top.aside.Targets) == 0 {
			write(top.tag + top.body.String() + tag)
			continue
		}
		top.aside.Body = body
		blocks[top.at] = &top.aside
	}
	write(text[from:])
	for len(stack) > 0 { // never closed: as it was written
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		write(top.tag + top.body.String())
	}
	for _, b := range blocks {
		if b != nil {
			found = append(found, *b)
		}
	}
	if len(found) == 0 {
		return text, nil
	}
	return tidyRest(out.String()), found
}

func aside(attrs string) (a Aside) {
	for _, m := range asideAttr.FindAllStringSubmatch(attrs, -1) {
		v := strings.TrimSpace(m[2] + m[3])
		switch strings.ToLower(m[1]) {
		case "target":
			for name := range strings.SplitSeq(v, ",") {
				name = strings.Trim(strings.TrimPrefix(strings.TrimSpace(name), "@"), "[] ")
				if name != "" {
					a.Targets = append(a.Targets, name)
				}
			}
		case "topic":
			a.Topic = firstRunes(strings.Join(strings.Fields(v), " "), 200)
		case "goal":
			a.Goal = firstRunes(v, 2000)
		}
	}
	return a
}

func firstRunes(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

var emptyLines = regexp.MustCompile(`\n[ \t]*\n([ \t]*\n)+`)

// tidyRest closes the gaps that blocks leave.
func tidyRest(s string) string {
	return strings.TrimSpace(emptyLines.ReplaceAllString(s, "\n\n"))
}

// WithoutAsides is what a room may see of a text that is still being written: whole
// blocks are gone, and so is all that follows the beginning of one.
func WithoutAsides(text string) string {
	if !strings.Contains(strings.ToLower(text), "<d") {
		return text
	}
	rest, _ := Asides(text)
	code := codeMap(rest)
	for _, m := range asideOpen.FindAllStringIndex(rest, -1) {
		if !code[m[0]] {
			rest = rest[:m[0]]
			break
		}
	}
	if tail := strings.ToLower(rest[max(0, len(rest)-2):]); tail == "<d" && !codeMap(rest)[len(rest)-2] {
		rest = rest[:len(rest)-2]
	}
	return strings.TrimRight(rest, " \n")
}

// codeMap marks the bytes of fenced blocks and code spans.
func codeMap(text string) []bool {
	out := make([]bool, len(text)+1)
	if !strings.ContainsAny(text, "`~") {
		return out
	}
	at, para := 0, 0
	mark := func(a, b int) {
		for i := a; i < b && i < len(out); i++ {
			out[i] = true
		}
	}
	spans := func(end int) {
		for _, s := range codeSpans(text[para:end]) {
			mark(para+s[0], para+s[1])
		}
	}
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " \t>")
		switch {
		case fence != "":
			mark(at, at+len(line))
			if closesFence(bare, fence) {
				fence, para = "", at+len(line)
			}
		case openFence(bare) != "":
			spans(at)
			fence = openFence(bare)
			mark(at, at+len(line))
		case strings.TrimSpace(line) == "":
			spans(at)
			para = at + len(line)
		}
		at += len(line)
	}
	if fence == "" {
		spans(at)
	}
	return out
}
