package alarm

import (
	"maps"
	"slices"
	"time"
)

// The books are what alarms remember of sessions and of the user.
type books struct {
	Sessions map[string]*account `json:"sessions"`
}

// account is what one session was woken for.
type account struct {
	Seen  int64               `json:"seen"`  // Unix seconds of the last event
	Row   int                 `json:"row"`   // wakes since a person's last prompt
	Auto  int                 `json:"auto"`  // the highest count of the letters shown since then
	Woken []int64             `json:"woken"` // times of the last hour
	Waits string              `json:"waits"` // the first unread letter at the last wake
	Why   string              `json:"why"`   // why not, as it was last written to the log
	InAll int                 `json:"in_all"`
	Peers map[string]*perPeer `json:"peers"`
	Sent  []int64             `json:"sent"` // letters sent with the tool in the last hour
}

type perPeer struct {
	Woken []int64 `json:"woken"`
	InAll int     `json:"in_all"`
}

// forgetAfter is how long a session that gives no sign is remembered, and maxSessions how many.
const (
	forgetAfter = 14 * 24 * time.Hour
	maxSessions = 200
	maxPeers    = 200
)

func (b *books) of(session string, now time.Time) *account {
	if b.Sessions == nil {
		b.Sessions = map[string]*account{}
	}
	maps.DeleteFunc(b.Sessions, func(_ string, a *account) bool { return a == nil || now.Unix()-a.Seen > int64(forgetAfter.Seconds()) })
	a := b.Sessions[session]
	if a == nil {
		for len(b.Sessions) >= maxSessions {
			delete(b.Sessions, b.oldest())
		}
		a = &account{}
		b.Sessions[session] = a
	}
	a.Seen = now.Unix()
	return a
}

func (b *books) oldest() string {
	return slices.MinFunc(slices.Collect(maps.Keys(b.Sessions)), func(x, y string) int { return int(b.Sessions[x].Seen - b.Sessions[y].Seen) })
}

// prompted notes that a person asked for the turn.
func (a *account) prompted() { a.Row, a.Auto = 0, 0 }

// shown notes letters that the model reads now.
func (a *account) shown(list []Mail) {
	for _, m := range list {
		a.Auto = max(a.Auto, m.Auto)
	}
}

// depth is how many automatic letters led to one that the session sends now: 0 after a person's prompt.
func (a *account) depth() int {
	if a.Row == 0 {
		return 0
	}
	return min(a.Auto+1, 1000)
}

// wakes says whether letters may wake the session now, and if so books it. Why not is for the log.
func (a *account) wakes(list []Mail, s Settings, now time.Time) (ok bool, why string) {
	if !s.Wake {
		return false, "waking is off"
	}
	a.Woken = lastHour(a.Woken, now)
	switch {
	case a.Row >= s.MaxInARow:
		return false, "enough wakes in a row"
	case len(a.Woken) >= s.WakesPerHour:
		return false, "enough wakes in an hour"
	case a.InAll >= s.WakesInAll:
		return false, "enough wakes of the session"
	}
	why = "no letter of a verified contact"
	var by []string
	for _, m := range list {
		p := a.peer(m.From)
		switch {
		case !m.Verified:
		case m.Auto > s.MaxAuto:
			why = "too many automatic letters before it"
		case len(lastHour(p.Woken, now)) >= s.PeerPerHour, p.InAll >= s.PeerInAll:
			why = "enough wakes by the sender"
		case !slices.Contains(by, m.From):
			by = append(by, m.From)
		}
	}
	if len(by) == 0 {
		return false, why
	}
	if a.Peers == nil {
		a.Peers = map[string]*perPeer{}
	}
	for _, from := range by {
		p := a.peer(from)
		p.Woken = append(lastHour(p.Woken, now), now.Unix())
		p.InAll++
		if len(a.Peers) < maxPeers || a.Peers[from] != nil {
			a.Peers[from] = p
		}
	}
	a.Row++
	a.InAll++
	a.Woken = append(a.Woken, now.Unix())
	return true, ""
}

func (a *account) peer(from string) *perPeer {
	if p := a.Peers[from]; p != nil {
		return p
	}
	return &perPeer{}
}

// sends says whether the session's model may send one more letter, and if so books it.
func (a *account) sends(s Settings, now time.Time) bool {
	a.Sent = lastHour(a.Sent, now)
	if len(a.Sent) >= s.SendsPerHour {
		return false
	}
	a.Sent = append(a.Sent, now.Unix())
	return true
}

func lastHour(times []int64, now time.Time) []int64 {
	return slices.DeleteFunc(slices.Clone(times), func(t int64) bool { return t <= now.Add(-time.Hour).Unix() || t > now.Unix() })
}
