package speak

import "strings"

// blank stands for what was code: it is no letter, no space and no @.
const blank = "\uFFFC"

// withoutCode replaces fenced blocks and code spans of Markdown (CommonMark 4.5,
// 6.1) by a blank. An unclosed fence runs to the end, as it is shown.
func withoutCode(text string) string {
	if !strings.ContainsAny(text, "`~") {
		return text
	}
	var out, para strings.Builder
	flush := func() {
		out.WriteString(withoutSpans(para.String()))
		para.Reset()
	}
	var fence string
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " \t>")
		switch {
		case fence != "":
			if closesFence(bare, fence) {
				fence = ""
			}
			out.WriteString(blank + "\n")
		case openFence(bare) != "":
			flush()
			fence = openFence(bare)
			out.WriteString(blank + "\n")
		case strings.TrimSpace(line) == "":
			flush()
			out.WriteString(line)
		default:
			para.WriteString(line)
		}
	}
	flush()
	return out.String()
}

// openFence is the run of at least three backticks or tildes that starts a block.
func openFence(bare string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(bare, mark)
		run := bare[:len(bare)-len(rest)]
		if len(run) >= 3 && (mark == "~" || !strings.Contains(rest, "`")) {
			return run
		}
	}
	return ""
}

func closesFence(bare, fence string) bool {
	rest := strings.TrimLeft(bare, fence[:1])
	return len(bare)-len(rest) >= len(fence) && strings.TrimSpace(rest) == ""
}

// withoutSpans replaces the code spans of one paragraph.
func withoutSpans(p string) string {
	var b strings.Builder
	from := 0
	for _, s := range codeSpans(p) {
		b.WriteString(p[from:s[0]])
		b.WriteString(blank)
		from = s[1]
	}
	b.WriteString(p[from:])
	return b.String()
}

// codeSpans are where `code` stands in one paragraph, with its backticks: a run of
// them is closed by the next run of the same length, else it is plain text.
func codeSpans(p string) (out [][2]int) {
	if !strings.Contains(p, "`") {
		return nil
	}
	type run struct{ at, n int }
	var runs []run
	for i := 0; i < len(p); {
		if p[i] != '`' {
			i++
			continue
		}
		j := i
		for j < len(p) && p[j] == '`' {
			j++
		}
		runs = append(runs, run{i, j - i})
		i = j
	}
	last := make(map[int]int, len(runs)) // length -> index of the last run with it
	for k, r := range runs {
		last[r.n] = k
	}
	for k := 0; k < len(runs); k++ {
		if last[runs[k].n] <= k {
			continue
		}
		end := k + 1
		for runs[end].n != runs[k].n {
			end++
		}
		out = append(out, [2]int{runs[k].at, runs[end].at + runs[end].n})
		k = end
	}
	return out
}
