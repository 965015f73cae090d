package speak_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/speak"
)

func pid() id.Participant { return id.New[id.Participant]() }

// TestG1_WhoIsWoken is decision 9, sentence by sentence.
func TestG1_WhoIsWoken(t *testing.T) {
	t.Parallel()
	ada, nova, zoe, off := pid(), pid(), pid(), pid()
	members := func(writer id.Participant) []speak.Member {
		return []speak.Member{
			{ID: ada, Awake: true, Writer: writer == ada}, {ID: off, Agent: true, Writer: writer == off},
			{ID: nova, Agent: true, Awake: true, Writer: writer == nova}, {ID: zoe, Agent: true, Awake: true, Writer: writer == zoe},
		}
	}
	for name, tc := range map[string]struct {
		f    speak.Facts
		want []id.Participant
	}{
		"a person without a mention: the first agent that may be woken": {speak.Facts{Writer: speak.Person, Members: members(ada)}, []id.Participant{nova}},
		"a person with mentions: those, in order, once":                 {speak.Facts{Writer: speak.Person, Members: members(ada), Mentioned: []id.Participant{zoe, nova, zoe}}, []id.Participant{zoe, nova}},
		"a mention of a person only: still the first agent":             {speak.Facts{Writer: speak.Person, Members: members(ada), Mentioned: []id.Participant{ada}}, []id.Participant{nova}},
		"an agent in a group without a mention":                         {speak.Facts{Writer: speak.Agent, Members: members(nova)}, nil},
		"an agent with a mention":                                       {speak.Facts{Writer: speak.Agent, Members: members(nova), Mentioned: []id.Participant{zoe}}, []id.Participant{zoe}},
		"itself":                                                        {speak.Facts{Writer: speak.Agent, Members: members(nova), Mentioned: []id.Participant{nova}}, nil},
		"a deactivated agent":                                           {speak.Facts{Writer: speak.Agent, Members: members(nova), Mentioned: []id.Participant{off}}, nil},
		"two agents alone":                                              {speak.Facts{Writer: speak.Agent, Direct: true, Members: members(nova)[2:]}, []id.Participant{zoe}},
		"the system":                                                    {speak.Facts{Writer: speak.System, Members: members(pid()), Mentioned: []id.Participant{zoe}}, nil},
		"an end of turn":                                                {speak.Facts{Writer: speak.Agent, Type: "EndTurn", Members: members(nova), Mentioned: []id.Participant{zoe}}, nil},
		"a failure":                                                     {speak.Facts{Writer: speak.Agent, Type: "ErrorReport", Members: members(nova), Mentioned: []id.Participant{zoe}}, nil},
		"a relay":                                                       {speak.Facts{Writer: speak.Agent, Quiet: true, Members: members(nova), Mentioned: []id.Participant{zoe}}, nil},
	} {
		if got := speak.Decide(tc.f).Wake; !slices.Equal(got, tc.want) {
			t.Errorf("%s: woke %v, want %v", name, got, tc.want)
		}
	}
}

// TestG1_Properties holds over random rooms and histories: nobody wakes itself,
// only agents that may be woken are, agents alone never go on past the limit, and
// at most one notice is shown between two words of a person.
func TestG1_Properties(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		ms := make([]speak.Member, 1+r.IntN(6))
		for i := range ms {
			ms[i] = speak.Member{ID: pid(), Agent: r.IntN(3) > 0, Awake: r.IntN(5) > 0}
		}
		direct := len(ms) == 2 && r.IntN(2) == 0
		streak, noticed, run, notices := 0, false, 0, 0
		for range 60 {
			w := r.IntN(len(ms))
			f := speak.Facts{Direct: direct, Streak: streak, Noticed: noticed, Members: slices.Clone(ms)}
			f.Members[w].Writer = true
			f.Writer = speak.Person
			if ms[w].Agent {
				f.Writer = speak.Agent
			}
			for _, m := range ms {
				if r.IntN(2) == 0 {
					f.Mentioned = append(f.Mentioned, m.ID)
				}
			}
			d := speak.Decide(f)
			seen := map[id.Participant]bool{}
			for _, p := range d.Wake {
				i := slices.IndexFunc(f.Members, func(m speak.Member) bool { return m.ID == p })
				if i < 0 || f.Members[i].Writer || !f.Members[i].Agent || !f.Members[i].Awake || seen[p] {
					t.Fatalf("woke %v by %+v", p, f)
				}
				seen[p] = true
			}
			if f.Writer == speak.Person {
				run, notices = 0, 0
			} else {
				run++
			}
			if run > d.Limit && len(d.Wake) > 0 {
				t.Fatalf("message %d of agents in a row woke %v", run, d.Wake)
			}
			if d.Notice {
				notices++
			}
			if notices > 1 {
				t.Fatal("two notices")
			}
			streak, noticed = d.Streak, d.Noticed
		}
	}
}
