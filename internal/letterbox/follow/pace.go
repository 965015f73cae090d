package follow

import (
	"math/rand/v2"
	"time"
)

// Times between two tries that failed, and between two looks while a talk is hot (contract letters 8.3).
const (
	firstPause = time.Second
	mostPause  = 5 * time.Minute
	busyPause  = 30 * time.Second // at least, when the relay says that we call too often
	hotPause   = 2 * time.Second
)

// backoff is the pause after so many failures in a row, between half of what doubles each time and all of it: followers that a relay
// has lost at the same moment do not come back at the same moment.
func backoff(failures int, busy bool) time.Duration {
	d := firstPause
	for i := 1; i < failures && d < mostPause; i++ {
		d = min(2*d, mostPause)
	}
	if busy {
		d = max(d, 2*busyPause)
	}
	return d/2 + rand.N(d/2+1)
}

// pollEvery is the pause between two looks without push: two seconds while letters come, then a tenth of the time since the last one,
// up to the interval.
func pollEvery(sinceLetter, interval time.Duration) time.Duration {
	return min(max(sinceLetter/10, hotPause), interval)
}

// callPause bounds how many calls a minute go to a relay, one for each chosen sender at each look and at least one: half of what ours
// lets one address make. A relay that hints without end makes nobody look without end.
const callPause = 200 * time.Millisecond

// gap is the least pause between two looks, of which the last asked for so many senders.
func gap(peers int) time.Duration { return time.Duration(max(peers, 1)) * callPause }

// turn is what one look looks at.
type turn struct{ letters, upkeep, requests, collect bool }

// schedule is when what is looked at next. Its zero value looks at everything at once.
type schedule struct {
	letters, upkeep, requests, collect time.Time
	letter                             time.Time // when one came last, zero for never
	again                              bool      // the second look was planned
}

// leaseOver is when a relay hands out again what it gave a follower that was killed before it could confirm (docs/relay.md).
const leaseOver = 35 * time.Second

// take is what is due. A hint says that there are letters or requests.
func (s *schedule) take(now time.Time, hinted bool) turn {
	due := func(t time.Time) bool { return !now.Before(t) }
	t := turn{letters: hinted || due(s.letters), upkeep: due(s.upkeep), requests: hinted || due(s.requests), collect: due(s.collect)}
	t.letters = t.letters || t.upkeep
	return t
}

// done plans the next looks after one that went well.
func (s *schedule) done(now time.Time, t turn, c Config, push, came bool) {
	if came {
		s.letter = now
	}
	every, requests := c.Interval, c.Interval
	if !push {
		requests = min(requestsEvery, c.Interval)
		if !s.letter.IsZero() {
			every = pollEvery(now.Sub(s.letter), c.Interval)
		}
	}
	if !s.again {
		every, s.again = min(every, leaseOver), true
	}
	if t.letters {
		s.letters = now.Add(every*9/10 + rand.N(every/5+1)) // not all followers of a relay at once
	}
	if t.upkeep {
		s.upkeep = now.Add(upkeepEvery)
	}
	if t.requests {
		s.requests = now.Add(requests)
	}
	if t.collect {
		s.collect = now.Add(collectEvery)
	}
}

// next is how long until something is due.
func (s *schedule) next(now time.Time, c Config) time.Duration {
	first := s.letters
	for _, t := range []time.Time{s.upkeep, s.collect} {
		if t.Before(first) {
			first = t
		}
	}
	if c.Invites && s.requests.Before(first) {
		first = s.requests
	}
	return max(first.Sub(now), 0)
}
