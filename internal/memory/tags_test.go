package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/memory"
)

// What is to be remembered is taken out of the words; what only looks like it stays.
func TestK3_TagsInText(t *testing.T) {
	t.Parallel()
	tea := "fact/tea/No milk."
	for name, tc := range map[string]struct {
		text, rest string
		found      []string
	}{
		"attributes":      {`Noted. <memory category="fact" key="tea">No milk.</memory>`, "Noted.", []string{tea}},
		"single quotes":   {`<MEMORY key='tea' category='Fact'> No milk. </Memory> Noted.`, "Noted.", []string{tea}},
		"json":            {"Noted.\n<memory>{\"category\":\"fact\",\"key\":\"tea\",\"content\":\"No milk.\"}</memory>\nBye.", "Noted.\nBye.", []string{tea}},
		"json in lines":   {"<memory>\n{\"category\":\"fact\",\n\"key\":\"tea\",\"content\":\"No milk.\"}\n</memory>\n\nNoted.", "Noted.", []string{tea}},
		"family":          {`A <family_memory category="fact" key="tea">No milk.</family_memory> B`, "A  B", []string{"family " + tea}},
		"two":             {`<memory category="fact" key="tea">No milk.</memory><memory category="skill" key="x">y</memory>`, "", []string{tea, "skill/x/y"}},
		"İ before it":     {`İİİ <memory category="fact" key="tea">No milk.</memory>`, "İİİ", []string{tea}},
		"in a fence":      {"Write:\n```\n<memory category=\"fact\" key=\"tea\">No milk.</memory>\n```\n", "", nil},
		"in an open one":  {"~~~~\n```\n<memory category=\"fact\" key=\"tea\">No milk.</memory>", "", nil},
		"in a span":       {"Write `<memory category=\"fact\" key=\"tea\">No milk.</memory>` then.", "", nil},
		"in a wider span": {"Write ``a ` <memory category=\"fact\" key=\"tea\">No milk.</memory>`` then.", "", nil},
		"after a fence":   {"```\nx\n```\n<memory category=\"fact\" key=\"tea\">No milk.</memory>", "```\nx\n```", []string{tea}},
		"a lone tick":     {"5` long <memory category=\"fact\" key=\"tea\">No milk.</memory>", "5` long", []string{tea}},
		"no end":          {`<memory category="fact" key="tea">No milk.`, "", nil},
		"other end":       {`<memory category="fact" key="tea">No milk.</family_memory>`, "", nil},
		"nested":          {`<memory category="fact" key="a"><memory category="fact" key="tea">No milk.</memory></memory>`, `<memory category="fact" key="a"></memory>`, []string{tea}},
		"no key":          {`<memory category="fact">No milk.</memory>`, "", nil},
		"odd category":    {`<memory category="gossip" key="tea">No milk.</memory>`, "", nil},
		"broken json":     {`<memory>{"category":"fact"</memory>`, "", nil},
		"too long":        {`<memory category="fact" key="tea">` + strings.Repeat("x", memory.MaxContent+1) + `</memory>`, "", nil},
		"empty":           {`<memory category="fact" key="tea"> </memory>`, "", nil},
		"another tag":     {`<memoryx category="fact" key="tea">No milk.</memoryx> 1 < 2`, "", nil},
	} {
		tags := memory.Tags(tc.text)
		var found []string
		for _, tag := range tags {
			kind := ""
			if tag.Family {
				kind = "family "
			}
			found = append(found, kind+tag.Write.Category+"/"+tag.Write.Key+"/"+tag.Write.Content)
		}
		want := tc.rest
		if len(tc.found) == 0 {
			want = tc.text // not a byte of it is touched
		}
		if got := memory.Without(tc.text, tags); got != want || !slices.Equal(found, tc.found) {
			t.Errorf("%s: %q %q, want %q %q", name, got, found, want, tc.found)
		}
	}
	if n := len(memory.Tags(strings.Repeat(`<memory category="fact" key="tea">x</memory>`, 100))); n != memory.MaxTagged {
		t.Errorf("%d tags of one message", n)
	}
}

// A stream shows no tag, not even its beginning.
func TestK3_TagsAreNotShownWhileWritten(t *testing.T) {
	t.Parallel()
	whole := "Hi Ada.\n<memory category=\"fact\" key=\"tea\">No milk, <b>ever</b>.</memory>\nBye."
	for n := range whole {
		if got := memory.Shown(whole[:n]); strings.Contains(got, "<") || !strings.HasPrefix("Hi Ada.\nBye.", got) {
			t.Errorf("after %d bytes: %q", n, got)
		}
	}
	for _, text := range []string{"if a < b", "a <b>c</b>", "`<memory` is a tag", "```\n<memory category=\"fact\"", "<table>"} {
		if got := memory.Shown(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestB1_BubblesBecomeParagraphs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<msg>Hi.</msg><msg>How are you?</msg>":  "Hi.\n\nHow are you?",
		"A\n<msg delay=\"2\">B\nC</msg>\nD":      "A\n\nB\nC\n\nD",
		"no bubbles":                             "no bubbles",
		"<msg>open":                              "<msg>open",
		"`<msg>x</msg>`":                         "`<msg>x</msg>`",
		"```\n<msg>x</msg>\n```\n<msg>y</msg>":   "```\n<msg>x</msg>\n```\n\ny",
		"<message>x</message> and <MSG>y</MSG>.": "<message>x</message> and\n\ny\n\n.",
	} {
		if got := memory.Bubbles(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestK3_TermsOfAnyWriting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Tea with MILK, tea":  "%tea% %with% %milk%",
		"她喝什么咖啡":              "%她喝% %喝什% %什么% %么咖% %咖啡%",
		"咖啡 coffee":           "%咖啡% %coffee%",
		"用Postgres库":          "%用% %postgres% %库%",
		"50%_a \\ !":          `%50% %\_a%`,
		"":                    "",
		"?!":                  "",
		"a b c d e f g h i j": "%a% %b% %c% %d% %e% %f% %g% %h% %i% %j%",
	} {
		if got := strings.Join(memory.Terms(text), " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if n := len(memory.Terms(strings.Repeat("a b c d e f g h i j k l m n o p q r s t ", 2))); n > 16 {
		t.Errorf("%d patterns", n)
	}
}

// Whatever a model writes: nothing breaks, what holds no tag stays to the byte, and a
// stream never shows more than the message.
func FuzzTags(f *testing.F) {
	for _, s := range []string{
		`a <memory category="fact" key="k">x</memory> b`, "```\n<memory category='fact' key='k'>x</memory>", "`<msg>` <msg>x</msg>", "İ<family_memory>{}</family_memory>", "<memory", "~~~\n`` ` ``", "<MSG a=\"b\">\n</msg>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tags := memory.Tags(text)
		rest := memory.Without(text, tags)
		if len(tags) == 0 && rest != text {
			t.Errorf("%q became %q", text, rest)
		}
		if len(rest) > len(text) || len(memory.Shown(text)) > len(text) {
			t.Errorf("%q grew", text)
		}
		for _, tag := range tags {
			if w := tag.Write; w.Clean() != nil {
				t.Errorf("%q holds %+v, which cannot be stored", text, w)
			}
		}
		_ = memory.Bubbles(text)
		_ = memory.Terms(text)
	})
}

// The worst texts of a message's length: each takes about as long as any other.
func BenchmarkWorstTexts(b *testing.B) {
	for name, unit := range map[string]string{
		"opening": `<memory>`, "closing": `</memory>`, "pairs": `<memory key="a">x</memory>`, "ticks": "`a`` ``` ", "spans": "`<memory>` ", "bubbles": `<msg>`, "plain": "some words, 1 < 2 ",
	} {
		text := strings.Repeat(unit, 100_000/len(unit)) + "</memory></msg>"
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = memory.Without(text, memory.Tags(text))
				_ = memory.Shown(text)
				_ = memory.Bubbles(text)
			}
		})
	}
}
