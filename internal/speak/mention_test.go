package speak_test

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/speak"
)

func among(names ...string) []speak.Candidate {
	out := make([]speak.Candidate, len(names))
	for i, n := range names {
		out[i] = speak.Candidate{ID: pid(), Name: n, Member: true}
	}
	return out
}

func namesOf(cs []speak.Candidate) string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Name)
	}
	return strings.Join(out, "|")
}

func TestP8_MentionsInAnyScript(t *testing.T) {
	t.Parallel()
	people := among("Ann", "Ann Lee", "José Ángel", "小智", "R2 (ops)", "Straße", "Bob's Bot", "Bob", "アン", "สมชาย", "Ольга")
	for text, want := range map[string]string{
		"@Ann Lee, @ann and @[ANN LEE]":        "Ann Lee|Ann",
		"@Anna mail@Ann.example x/@Ann \\@Ann": "",
		"(@Ann)":                               "Ann",
		"@josé ángel！":                         "José Ángel",
		"@JOSE\u0301 A\u0301NGEL":              "José Ángel",
		"@jose\u0301":                          "",
		"请@小智看看":                               "小智",
		"＠小智":                                  "小智",
		"@R2 (ops) go":                         "R2 (ops)",
		"@[R2 (OPS)]go":                        "R2 (ops)",
		"@STRASSE @straße":                     "Straße",
		"@Bob's Bot @Bob's":                    "Bob's Bot|Bob",
		"@アンさん":                                "アン",
		"@アンドリュー":                              "",
		"@สมชายครับ":                           "สมชาย",
		"привет, @ольга!":                      "Ольга",
		"@Ann\u00a0Lee and @Ann  Lee":          "Ann Lee",
		"@Ann\nLee":                            "Ann",
		"@[Ann] Lee":                           "Ann",
		"@[Nobody] @nobody @ @[] @[Ann":        "",
		"`@Ann` and\n```\n@Ann Lee\n```\n@Bob": "Bob",
		"``a ` @Ann`` @Bob":                    "Bob",
		"an open ` tick @Ann":                  "Ann",
		"~~~go\n@Ann\n~~~\n@Bob":               "Bob",
		"> ```\n> @Ann\n> ```\n@Bob":           "Bob",
		"```\n@Ann never closed":               "",
		"one `tick\n\nnew paragraph ` @Ann":    "Ann",
		"@Ann@Bob":                             "Ann",
		"@@Ann":                                "Ann",
		"**@Ann** _@Bob_":                      "Ann",
	} {
		if got := namesOf(speak.Mentions(text, people)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestP8_MentionOfOneOfTwoNamesakes(t *testing.T) {
	t.Parallel()
	two := among("Nova", "nova", "Nova")
	two[0].Member, two[1].Member = false, true
	if got := speak.Mentions("@Nova", two); len(got) != 1 || got[0].ID != two[1].ID {
		t.Fatal("a member goes before others")
	}
	two[2].Hint = true
	if got := speak.Mentions("@Nova", two); len(got) != 1 || got[0].ID != two[2].ID {
		t.Fatal("the writer's choice goes first")
	}
}

func TestP8_MentionsAreBounded(t *testing.T) {
	t.Parallel()
	var names []string
	for n := range 2000 {
		names = append(names, strings.Repeat("x", n%100)+string(rune('a'+n%26)))
	}
	if got := speak.Mentions(strings.Repeat("@", 100_000), among(names...)); len(got) != 0 {
		t.Fatal("found somebody in nothing but @")
	}
}

// FuzzMentions: whatever the text, results are distinct candidates whose name
// stands behind an @ somewhere outside code.
func FuzzMentions(f *testing.F) {
	for _, s := range []string{"@Ann Lee", "`@Ann`", "```\n@Ann\n```", "@[小智]好", "@Ann@Bob", "\xff@Ann", "~~~\n~~~@Ann"} {
		f.Add(s)
	}
	people := among("Ann", "Ann Lee", "小智", "Bob")
	f.Fuzz(func(t *testing.T, text string) {
		got := speak.Mentions(text, people)
		if len(got) > 0 && !speak.Mentionable(text) {
			t.Fatalf("%q mentions %s and is not mentionable", text, namesOf(got))
		}
		seen := map[string]bool{}
		for _, c := range got {
			if seen[c.Name] {
				t.Fatalf("%s twice", c.Name)
			}
			seen[c.Name] = true
		}
		// In a fence nothing is a mention.
		fence := strings.Repeat("`", 3+longestRun(text, '`'))
		if inside := speak.Mentions(fence+"\n"+text+"\n"+fence, people); len(inside) != 0 {
			t.Fatalf("%q: inside a fence %s", text, namesOf(inside))
		}
		// Somebody mentioned in a line of its own is found, whatever came before, unless a fence or span swallows it.
		if !strings.ContainsAny(text, "`~") && len(got) < len(people) && strings.Count(text, "@") < 900 {
			if all := speak.Mentions(text+"\n\n@[Bob]", people); !strings.Contains(namesOf(all), "Bob") {
				t.Fatalf("%q: Bob is lost", text)
			}
		}
	})
}

func longestRun(s string, b byte) int {
	best, run := 0, 0
	for i := range len(s) {
		if s[i] == b {
			run++
			best = max(best, run)
		} else {
			run = 0
		}
	}
	return best
}
