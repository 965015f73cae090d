package document_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/document"
	"github.com/agntchat/agntchat/internal/fault"
)

const sample = `# Tides

The **harbour** master writes *both* down in ` + "`the book`" + `, see [the site](https://example.com) and 你好，世界。

1. High water
2. Low water
   - at night
   - 夜里

> Mind the stones.

| Day | High | 备注 |
|---|---|---|
| Monday | 03:10 | a long remark that has to be broken into several lines of its cell |
| Tuesday | 04:00 | 大潮 |

` + "```go\nfunc main() {\n\tprintln(\"hi\") // 注释\n}\n```" + `

---

<script>alert(1)</script>

![a picture](https://example.com/x.png) 🎉 end
`

func TestK3_PDFIsMadeOfMarkdown(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	a, err := document.PDF("The tides 潮汐", sample, at)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(a, []byte("%PDF-")) || !bytes.Contains(a, []byte("https://example.com")) || bytes.Contains(a, []byte("x.png")) || !bytes.Contains(bytes.TrimSpace(a[len(a)-20:]), []byte("%%EOF")) {
		t.Errorf("%d bytes: %.40q", len(a), a)
	}
	if len(a) > 2<<20 {
		t.Errorf("%d bytes: whole fonts are in it", len(a))
	}
}

func TestK3_DocumentsAreBounded(t *testing.T) {
	t.Parallel()
	at := time.Now()
	for name, md := range map[string]string{
		"quotes": strings.Repeat(">", 5000) + " x", "lists": strings.Repeat(" ", 100) + strings.Repeat("- ", 3000) + "x", "stars": strings.Repeat("*a **b ", 5000),
		"empty": "", "brackets": strings.Repeat("[", 20000), "one word": strings.Repeat("x", 50_000), "table": "|" + strings.Repeat("a|", 500) + "\n|" + strings.Repeat("-|", 500) + "\n",
	} {
		if _, err := document.PDF("", md, at); err != nil && fault.KindOf(err) == fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := document.PDF("", strings.Repeat("line\n\n", 20_000), at); !fault.Is(err, "document_too_long") {
		t.Errorf("a thousand pages: %v", err)
	}
}
