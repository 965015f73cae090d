package speak_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/speak"
)

// TestH1_Asides is row H1: every way of writing the tag has one outcome, and nothing
// is lost.
func TestH1_Asides(t *testing.T) {
	t.Parallel()
	to := func(body string, targets ...string) speak.Aside { return speak.Aside{Targets: targets, Body: body} }
	for name, tc := range map[string]struct {
		text, rest string
		found      []speak.Aside
	}{
		"no tag":                     {"just words < and >", "just words < and >", nil},
		"one, in the middle":         {"before\n\n<dm target=\"Nova\">linen?</dm>\n\nafter", "before\n\nafter", []speak.Aside{to("linen?", "Nova")}},
		"nothing else":               {`<dm target="Nova">linen?</dm>`, "", []speak.Aside{to("linen?", "Nova")}},
		"several targets":            {`<dm target="@Nova, [Ann Lee] ,Zoe">x</dm>`, "", []speak.Aside{to("x", "Nova", "Ann Lee", "Zoe")}},
		"topic and goal":             {`<dm target='Nova' topic="the  sails" goal="choose">x</dm>`, "", []speak.Aside{{Targets: []string{"Nova"}, Topic: "the sails", Goal: "choose", Body: "x"}}},
		"large letters, new lines":   {"<DM\n target=\"Nova\"\n>\nx\n</Dm >", "", []speak.Aside{to("x", "Nova")}},
		"two side by side":           {`<dm target="A">1</dm> and <dm target="B">2</dm>`, "and", []speak.Aside{to("1", "A"), to("2", "B")}},
		"one in another":             {`<dm target="A">1 <dm target="B">2</dm> 3</dm>`, "", []speak.Aside{to("1  3", "A"), to("2", "B")}},
		"never closed":               {`hi <dm target="A">1`, `hi <dm target="A">1`, nil},
		"closed, in one that is not": {`hi <dm target="A">1 <dm target="B">2</dm>`, `hi <dm target="A">1`, []speak.Aside{to("2", "B")}},
		"only the end":               {`hi </dm> there`, `hi </dm> there`, nil},
		"an end too many":            {`<dm target="A">1</dm></dm>`, `</dm>`, []speak.Aside{to("1", "A")}},
		"no target":                  {`<dm>1</dm>`, `<dm>1</dm>`, nil},
		"an empty target":            {`<dm target=" , @">1</dm>`, `<dm target=" , @">1</dm>`, nil},
		"no words":                   {`a <dm target="A"> </dm> b`, `a <dm target="A"> </dm> b`, nil},
		"an attribute without marks": {`<dm target=A>1</dm>`, `<dm target=A>1</dm>`, nil},
		"another tag":                {`<dmx target="A">1</dmx>`, `<dmx target="A">1</dmx>`, nil},
		"in a fence":                 {"```\n<dm target=\"A\">1</dm>\n```", "```\n<dm target=\"A\">1</dm>\n```", nil},
		"in a span":                  {"write `<dm target=\"A\">1</dm>` so", "write `<dm target=\"A\">1</dm>` so", nil},
		"beside code":                {"`code` <dm target=\"A\">see `x`</dm>", "`code`", []speak.Aside{to("see `x`", "A")}},
		"a fence inside":             {"<dm target=\"A\">\n```\n</dm>\n```\n</dm>", "", []speak.Aside{to("```\n</dm>\n```", "A")}},
		"Chinese":                    {"好 <dm target=\"小明\">帆</dm>", "好", []speak.Aside{to("帆", "小明")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest, found := speak.Asides(tc.text)
			if rest != tc.rest || !reflect.DeepEqual(found, tc.found) {
				t.Errorf("%q\n got %q %+v\nwant %q %+v", tc.text, rest, found, tc.rest, tc.found)
			}
		})
	}
}

// While an answer is being written, nothing of a block is shown, whatever the moment.
func TestH1_NothingLeaksWhileWriting(t *testing.T) {
	t.Parallel()
	const text = "Let me ask.\n\n<dm target=\"Nova\" topic=\"sails\">SECRET linen?</dm>\n\nI come back."
	for n := range len(text) {
		shown := speak.WithoutAsides(text[:n])
		if strings.Contains(shown, "SECRET") || strings.Contains(shown, "<d") {
			t.Fatalf("after %d bytes the room sees %q", n, shown)
		}
	}
	if got := speak.WithoutAsides("a < b and `<dm target=\"A\">` is the tag"); got != "a < b and `<dm target=\"A\">` is the tag" {
		t.Errorf("code is shown: %q", got)
	}
}

// Whatever a model writes, no word of it disappears.
func TestH1_NothingIsLost(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{`<dm target="A">`, `<dm target="B, C" topic="t">`, "</dm>", "<dm>", "`", "```\n", "\n\n", " word%d ", "<dm target=", "</"}
	for range 3000 {
		var b strings.Builder
		words := 0
		for range rng.IntN(14) {
			p := pieces[rng.IntN(len(pieces))]
			if strings.Contains(p, "%d") {
				words++
				p = strings.Replace(p, "%d", strings.Repeat("x", words), 1)
			}
			b.WriteString(p)
		}
		text := b.String()
		rest, found := speak.Asides(text)
		all := rest
		for _, a := range found {
			all += "\n" + a.Body
		}
		if strings.Count(all, "word") != words {
			t.Fatalf("%q became %q and %+v", text, rest, found)
		}
	}
}

// TestH1_WhoIsWokenInAHuddle is ADR 20: who opened it speaks to all, the others to
// who opened it; a report wakes only whom it mentions.
func TestH1_WhoIsWokenInAHuddle(t *testing.T) {
	t.Parallel()
	nova, zoe, max := pid(), pid(), pid()
	members := func(writer id.Participant) (out []speak.Member) {
		for _, p := range []id.Participant{nova, zoe, max} {
			out = append(out, speak.Member{ID: p, Agent: true, Awake: true, Writer: p == writer})
		}
		return out
	}
	for name, tc := range map[string]struct {
		f    speak.Facts
		want []id.Participant
	}{
		"who opened it":             {speak.Facts{Writer: speak.Agent, Huddle: true, Opener: nova, Members: members(nova)}, []id.Participant{zoe, max}},
		"another":                   {speak.Facts{Writer: speak.Agent, Huddle: true, Opener: nova, Members: members(zoe)}, []id.Participant{nova}},
		"another with a mention":    {speak.Facts{Writer: speak.Agent, Huddle: true, Opener: nova, Members: members(zoe), Mentioned: []id.Participant{max}}, []id.Participant{max}},
		"a person opened it":        {speak.Facts{Writer: speak.Agent, Huddle: true, Opener: pid(), Members: members(zoe)}, nil},
		"a person without mention":  {speak.Facts{Writer: speak.Person, Huddle: true, Opener: nova, Members: members(pid())}, []id.Participant{nova}},
		"after twelve in a row":     {speak.Facts{Writer: speak.Agent, Huddle: true, Opener: nova, Members: members(nova), Streak: speak.GroupLimit}, nil},
		"a report of a person":      {speak.Facts{Writer: speak.Person, Report: true, Members: members(pid())}, nil},
		"a report with a mention":   {speak.Facts{Writer: speak.Person, Report: true, Members: members(pid()), Mentioned: []id.Participant{zoe}}, []id.Participant{zoe}},
		"a report in a direct room": {speak.Facts{Writer: speak.Agent, Direct: true, Report: true, Members: members(nova)[:2]}, nil},
	} {
		if got := speak.Decide(tc.f).Wake; !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: woke %v, want %v", name, got, tc.want)
		}
	}
}
