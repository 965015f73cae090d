package document

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/agntchat/agntchat/internal/fault"
)

//go:embed fonts/*.gz
var fontFiles embed.FS

// The families of a document. cjk has the letters that the others lack.
const (
	sans = "sans"
	mono = "mono"
	cjk  = "cjk"
)

var fonts = sync.OnceValues(func() (map[string][]byte, error) {
	out := map[string][]byte{}
	for key, name := range map[string]string{sans: "DejaVuSans", sans + "B": "DejaVuSans-Bold", sans + "I": "DejaVuSans-Oblique", mono: "DejaVuSansMono", cjk: "DroidSansFallbackFull"} {
		f, err := fontFiles.Open("fonts/" + name + ".ttf.gz")
		if err != nil {
			return nil, fmt.Errorf("open font: %w", err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("open font: %w", err)
		}
		if out[key], err = io.ReadAll(z); err != nil {
			return nil, fmt.Errorf("read font: %w", err)
		}
	}
	return out, nil
})

// maxPages bounds a document.
const maxPages = 300

// PDF sets Markdown (with tables and strikethrough) on A4 pages. Pictures are shown
// as their description: nothing is fetched.
func PDF(title, markdown string, at time.Time) ([]byte, error) {
	all, err := fonts()
	if err != nil {
		return nil, err
	}
	p := &pdf{Fpdf: fpdf.New("P", "mm", "A4", ""), src: []byte(markdown), size: bodySize, cjk: strings.ContainsFunc(title+markdown, wide)}
	p.SetTitle(title, true)
	p.SetCreationDate(at)
	p.SetModificationDate(at)
	p.SetCatalogSort(true)
	p.SetMargins(20, 20, 20)
	p.SetAutoPageBreak(true, 20)
	font := func(family, style string) { // a copy: fpdf writes into the font while it cuts it
		p.AddUTF8FontFromBytes(family, style, bytes.Clone(all[family+style]))
	}
	font(sans, "")
	font(sans, "B")
	font(sans, "I")
	font(mono, "")
	if p.cjk {
		font(cjk, "")
	}
	p.SetFooterFunc(func() {
		p.SetY(-14)
		p.SetFont(sans, "", 8)
		p.SetTextColor(130, 130, 130)
		p.CellFormat(0, 6, strconv.Itoa(p.PageNo()), "", 0, "C", false, 0, "")
		p.SetTextColor(0, 0, 0)
	})
	p.AddPage()
	if title != "" {
		p.size, p.bold = 20, 1
		p.words(title)
		p.size, p.bold = bodySize, 0
		p.Ln(13)
	}
	p.blocks(goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser().Parse(text.NewReader(p.src)))
	if p.tooLong {
		return nil, fault.Newf(fault.Invalid, "document_too_long", "A document may have at most %d pages.", maxPages)
	}
	var b bytes.Buffer
	if err := p.Output(&b); err != nil {
		return nil, fault.New(fault.Invalid, "document_failed", "This text cannot be set as a PDF.").Because(err)
	}
	return b.Bytes(), nil
}

const bodySize = 10.5

type pdf struct {
	*fpdf.Fpdf
	src     []byte
	size    float64
	bold    int
	italic  int
	code    bool
	cjk     bool
	link    string
	depth   int
	tooLong bool
}

// wide are letters that DejaVu has not and the fallback font has.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) || (r >= 0x3000 && r <= 0x303f) || (r >= 0xff00 && r <= 0xffef)
}

func (p *pdf) line() float64 { return p.size * 0.3528 * 1.45 }

// words writes flowing text, each run in the font that has its letters.
func (p *pdf) words(s string) {
	for _, run := range runs(s) {
		family, style := sans, ""
		switch {
		case run.wide:
			family = cjk
		case p.code:
			family = mono
		case p.bold > 0:
			style = "B"
		case p.italic > 0:
			style = "I"
		}
		p.SetFont(family, style, p.size)
		for _, part := range parts(run.text) {
			if p.link != "" {
				p.SetTextColor(20, 70, 160)
				p.WriteLinkString(p.line(), part, p.link)
				p.SetTextColor(0, 0, 0)
			} else {
				p.Write(p.line(), part)
			}
		}
	}
}

// parts cuts text with endless words, which take fpdf endless time, into pieces.
func parts(s string) []string {
	const most = 60
	if !slices.ContainsFunc(strings.Fields(s), func(w string) bool { return len(w) > 4*most }) {
		return []string{s}
	}
	var out []string
	for r := []rune(s); len(r) > 0; {
		n := min(most, len(r))
		out, r = append(out, string(r[:n])), r[n:]
	}
	return out
}

type textRun struct {
	text string
	wide bool
}

// runs splits text by font, and leaves out what no font has: letters outside of
// the first plane of Unicode.
func runs(s string) []textRun {
	var out []textRun
	var b strings.Builder
	in := false
	flush := func() {
		if b.Len() > 0 {
			out = append(out, textRun{b.String(), in})
			b.Reset()
		}
	}
	for _, r := range s {
		if r > 0xffff || (r < ' ' && r != '\n' && r != '\t') {
			continue
		}
		if w := wide(r); w != in && r != ' ' && r != '\n' {
			flush()
			in = w
		}
		b.WriteRune(r)
	}
	flush()
	return out
}

func (p *pdf) blocks(parent ast.Node) {
	if p.depth++; p.depth > 20 {
		return
	}
	defer func() { p.depth-- }()
	for n := parent.FirstChild(); n != nil && !p.tooLong; n = n.NextSibling() {
		p.tooLong = p.PageNo() > maxPages
		p.block(n)
	}
}

func (p *pdf) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		p.Ln(2)
		p.size, p.bold = []float64{18, 15, 13, 12, 11, 10.5}[n.Level-1], 1
		p.inline(n)
		h := p.line()
		p.size, p.bold = bodySize, 0
		p.Ln(h + 2)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		p.codeBlock(n)
	case *ast.Blockquote:
		p.indented(6, func() { p.italic++; p.blocks(n); p.italic-- })
	case *ast.List:
		p.list(n)
	case *ast.ThematicBreak:
		left, _, right, _ := p.GetMargins()
		w, _ := p.GetPageSize()
		p.Line(left, p.GetY()+2, w-right, p.GetY()+2)
		p.Ln(5)
	case *east.Table:
		p.table(n)
	case *ast.HTMLBlock: // markup is not text
	case *ast.Paragraph, *ast.TextBlock:
		p.inline(n)
		p.Ln(p.line() + 2)
	default:
		p.blocks(n)
	}
}

func (p *pdf) indented(mm float64, f func()) {
	left, _, _, _ := p.GetMargins()
	p.SetLeftMargin(left + mm)
	p.SetX(left + mm)
	f()
	p.SetLeftMargin(left)
	p.SetX(left)
}

func (p *pdf) list(n *ast.List) {
	no := n.Start
	for item := n.FirstChild(); item != nil && !p.tooLong; item = item.NextSibling() {
		mark := "•"
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d.", no)
			no++
		}
		p.SetFont(sans, "", p.size)
		p.CellFormat(7, p.line(), mark, "", 0, "R", false, 0, "")
		p.indented(8, func() { p.blocks(item) })
	}
}

func (p *pdf) codeBlock(n ast.Node) {
	p.size, p.code = 9, true
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		s := strings.TrimRight(strings.ReplaceAll(string(at.Value(p.src)), "\t", "    "), "\r\n")
		_, y := p.GetXY()
		if _, h := p.GetPageSize(); y+p.line() < h-20 {
			p.SetFillColor(244, 244, 244)
			left, _, right, _ := p.GetMargins()
			w, _ := p.GetPageSize()
			p.Rect(left, y, w-left-right, p.line(), "F")
		}
		p.words(s)
		p.Ln(p.line())
		if p.tooLong = p.PageNo() > maxPages; p.tooLong {
			break
		}
	}
	p.size, p.code = bodySize, false
	p.Ln(3)
}

// table gives every column the same width; cells wrap.
func (p *pdf) table(n *east.Table) {
	left, _, right, bottom := p.GetMargins()
	w, h := p.GetPageSize()
	cols := len(n.Alignments)
	if cols == 0 || cols > 20 {
		return
	}
	width := (w - left - right) / float64(cols)
	p.size = 9.5
	for row := n.FirstChild(); row != nil && !p.tooLong; row = row.NextSibling() {
		_, head := row.(*east.TableHeader)
		style := ""
		if head {
			style = "B"
		}
		var cells [][]string
		most := 1
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			lines := p.wrap(plainOf(c, p.src), style, width-2)
			cells, most = append(cells, lines), max(most, len(lines))
		}
		height := float64(most)*p.line() + 1.5
		if p.GetY()+height > h-bottom && height < h-60 {
			p.AddPage()
		}
		x, y := left, p.GetY()
		for _, lines := range cells {
			p.Rect(x, y, width, height, "D")
			for i, l := range lines {
				p.SetXY(x+1, y+0.7+float64(i)*p.line())
				for _, run := range runs(l) {
					p.fontFor(run.wide, style)
					p.CellFormat(p.GetStringWidth(run.text), p.line(), run.text, "", 0, "L", false, 0, "")
				}
			}
			x += width
		}
		p.SetXY(left, y+height)
		p.tooLong = p.PageNo() > maxPages
	}
	p.size = bodySize
	p.Ln(4)
}

func (p *pdf) fontFor(wide bool, style string) {
	if wide {
		p.SetFont(cjk, "", p.size)
		return
	}
	p.SetFont(sans, style, p.size)
}

// wrap breaks text at spaces, between wide letters, and in words that are longer
// than a line. At most 40 lines are kept.
func (p *pdf) wrap(s, style string, width float64) []string {
	var out []string
	var line []rune
	used, space := 0.0, -1
	for _, r := range s {
		p.fontFor(wide(r), style)
		w := p.GetStringWidth(string(r))
		if used+w > width && len(line) > 0 {
			rest := []rune{}
			if space > 0 && !wide(r) {
				rest = append(rest, line[space+1:]...)
				line = line[:space]
			}
			if out = append(out, string(line)); len(out) == 40 {
				return out
			}
			line, used, space = rest, 0, -1
			for _, c := range rest {
				p.fontFor(wide(c), style)
				used += p.GetStringWidth(string(c))
			}
		}
		if r == ' ' {
			space = len(line)
		}
		line, used = append(line, r), used+w
	}
	return append(out, string(line))
}

func (p *pdf) inline(parent ast.Node) {
	if p.depth++; p.depth > 40 {
		p.depth--
		return
	}
	defer func() { p.depth-- }()
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			p.words(string(n.Segment.Value(p.src)))
			if n.HardLineBreak() {
				p.Ln(p.line())
			} else if n.SoftLineBreak() {
				p.words(" ")
			}
		case *ast.String:
			p.words(string(n.Value))
		case *ast.CodeSpan:
			p.code = true
			p.inline(n)
			p.code = false
		case *ast.Emphasis:
			if n.Level > 1 {
				p.bold++
				p.inline(n)
				p.bold--
			} else {
				p.italic++
				p.inline(n)
				p.italic--
			}
		case *ast.Link:
			p.link = webLink(string(n.Destination))
			p.inline(n)
			p.link = ""
		case *ast.AutoLink:
			p.link = webLink(string(n.URL(p.src)))
			p.words(string(n.Label(p.src)))
			p.link = ""
		case *ast.RawHTML:
		default:
			p.inline(n)
		}
	}
}

// webLink lets only addresses of the web and of mail be links.
func webLink(s string) string {
	for _, ok := range []string{"https://", "http://", "mailto:"} {
		if strings.HasPrefix(strings.ToLower(s), ok) {
			return s
		}
	}
	return ""
}

func plainOf(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, in bool) (ast.WalkStatus, error) { // the callback fails never
		if t, ok := n.(*ast.Text); ok && in {
			b.Write(t.Segment.Value(src))
		}
		return ast.WalkContinue, nil
	})
	var out strings.Builder
	for _, r := range runs(b.String()) {
		out.WriteString(r.text)
	}
	return out.String()
}
