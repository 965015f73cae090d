package judgetest

import (
	"slices"
	"strings"
)

// store is what the desktop's stores hold. Every method expects the lock of the
// client's watched.
type store struct {
	me        map[string]any
	rooms     map[string]map[string]any // conversation list
	announced map[string]map[string]any // new_conversation since the last load began
	listed    bool                      // the list was loaded once
	gone      map[string]bool           // deleted or left rooms
	hidden    map[string]bool           // announced work rooms, which are never listed
	agents    map[string]map[string]any
	open      string
	timeline  map[string][]map[string]any // oldest first
	recents   map[string]int              // recent_messages received
	snapshots int
	resyncs   int
	log       []frame

	placeholders map[string]string // nonce → conversation, until the echo
	byNonce      map[string]map[string]any
	marking      map[string]bool

	unread  map[string]int
	counted map[string]map[string]bool // conversation → turn groups counted since the last clear

	presence map[string]string // agent id → online_local
	online   map[string]bool
	activity map[string]string
	typing   map[string]map[string]bool // conversation → participant
	streams  map[string]map[string]*liveStream
}

func newStore() store {
	return store{
		rooms: map[string]map[string]any{}, announced: map[string]map[string]any{}, gone: map[string]bool{}, hidden: map[string]bool{}, agents: map[string]map[string]any{},
		timeline: map[string][]map[string]any{}, recents: map[string]int{}, placeholders: map[string]string{},
		byNonce: map[string]map[string]any{}, marking: map[string]bool{}, unread: map[string]int{}, counted: map[string]map[string]bool{},
		presence: map[string]string{}, online: map[string]bool{}, activity: map[string]string{},
		typing: map[string]map[string]bool{}, streams: map[string]map[string]*liveStream{},
	}
}

// Open is the id of the open conversation.
func (d *Desktop) Open() string { var s string; d.read(func() { s = d.open }); return s }

// Unread is the badge of one conversation.
func (d *Desktop) Unread(conv string) int { n := 0; d.read(func() { n = d.unread[conv] }); return n }

// Timeline copies the messages held of a conversation, oldest first.
func (d *Desktop) Timeline(conv string) []map[string]any {
	var out []map[string]any
	d.read(func() { out = slices.Clone(d.timeline[conv]) })
	return out
}

// Placeholders counts own bubbles still shown as sending.
func (d *Desktop) Placeholders() int { n := 0; d.read(func() { n = len(d.placeholders) }); return n }

func (s *store) setUnread(v any) {
	s.unread, s.counted = map[string]int{}, map[string]map[string]bool{}
	counts, _ := v.(map[string]any)
	for id, n := range counts {
		if f, ok := n.(float64); ok && f > 0 {
			s.unread[id] = int(f)
		}
	}
}

func (s *store) clearUnread(conv string) {
	delete(s.unread, conv)
	delete(s.counted, conv)
}

// merge files a window of messages: known ids are replaced, order is by
// insertedAt as strings, which is what some client paths compare.
func (s *store) merge(conv string, page []map[string]any) {
	for _, m := range page {
		s.upsert(conv, m)
	}
}

func (s *store) upsert(conv string, m map[string]any) {
	if m["threadOnly"] == true {
		return
	}
	list := s.timeline[conv]
	id := str(m, "id")
	if i := slices.IndexFunc(list, func(o map[string]any) bool { return str(o, "id") == id }); i >= 0 {
		list[i] = m
		return
	}
	meta, _ := m["metadata"].(map[string]any)
	if nonce := str(meta, "client_nonce"); nonce != "" {
		delete(s.placeholders, nonce)
		s.byNonce[nonce] = m
	}
	i, _ := slices.BinarySearchFunc(list, m, func(a, b map[string]any) int {
		return strings.Compare(str(a, "insertedAt"), str(b, "insertedAt"))
	})
	s.timeline[conv] = slices.Insert(list, i, m)
}

// window treats recent_messages as the latest window: what is held inside its
// time span and missing from it was deleted (desktop 3.4).
func (s *store) window(conv string, page []map[string]any) {
	if len(page) == 0 {
		s.timeline[conv] = nil
		return
	}
	ids, oldest := map[string]bool{}, ""
	for _, m := range page {
		ids[str(m, "id")] = true
		if at := str(m, "insertedAt"); oldest == "" || at < oldest {
			oldest = at
		}
	}
	newest := ""
	for _, m := range page {
		newest = max(newest, str(m, "insertedAt"))
	}
	s.timeline[conv] = slices.DeleteFunc(s.timeline[conv], func(m map[string]any) bool {
		at := str(m, "insertedAt")
		return at >= oldest && at <= newest && !ids[str(m, "id")]
	})
	s.merge(conv, page)
}

func (s *store) remove(conv, id string) {
	s.timeline[conv] = slices.DeleteFunc(s.timeline[conv], func(m map[string]any) bool { return str(m, "id") == id })
}

// bump counts one conversation_updated: once per turn group or message since the
// last clear, only while the conversation is listed and not open. The sender is
// not checked (desktop 3.8).
func (s *store) bump(conv string, last map[string]any) {
	if s.open == conv || s.rooms[conv] == nil {
		return
	}
	key := str(last, "turnGroupId")
	if key == "" {
		key = str(last, "id")
	}
	if s.counted[conv] == nil {
		s.counted[conv] = map[string]bool{}
	}
	if !s.counted[conv][key] {
		s.counted[conv][key] = true
		s.unread[conv]++
	}
}

// liveStream is one running stream as the streaming store keeps it.
type liveStream struct {
	ID, Sender, Status, Phase, Content string
	Steps, Thoughts                    []string
}

func (l *liveStream) passive() bool { return l.Phase == "queued" || l.Phase == "waiting" }

// reduceStream is desktop 3.6.
func (s *store) reduceStream(conv string, p map[string]any) {
	id, sender, status, phase := str(p, "streamId"), str(p, "senderId"), str(p, "status"), str(p, "phase")
	if phase == "" {
		phase = "thinking"
	}
	room := s.streams[conv]
	if room == nil {
		room = map[string]*liveStream{}
		s.streams[conv] = room
	}
	cur := room[id]
	switch status {
	case "complete":
		if cur != nil {
			cur.Status = status
		}
		return
	case "cancelled":
		if cur != nil {
			delete(room, id)
			return
		}
		for key, l := range room {
			if l.Sender == sender && l.passive() {
				delete(room, key)
			}
		}
		return
	}
	if strings.HasPrefix(id, "signal:") && phase == "thinking" {
		return
	}
	passive := phase == "queued" || phase == "waiting"
	for key, l := range room {
		if key == id || l.Sender != sender {
			continue
		}
		if passive && !l.passive() && l.Status != "complete" {
			return
		}
		if !passive {
			delete(room, key)
		}
	}
	if cur == nil {
		cur = &liveStream{ID: id, Sender: sender}
		room[id] = cur
	}
	if cur.Phase == "writing" && phase != "writing" && len([]rune(cur.Content)) >= 12 {
		cur.Thoughts = append(cur.Thoughts, cur.Content)
	}
	cur.Status, cur.Phase = status, phase
	if c, ok := p["content"].(string); ok {
		cur.Content = c
	}
	if step := str(p, "phaseDetail"); step != "" && !slices.Contains(cur.Steps, step) {
		cur.Steps = append(cur.Steps, step)
		cur.Steps = cur.Steps[max(0, len(cur.Steps)-8):]
	}
}

// landed removes the stream and the typing dots of a message's sender.
func (s *store) landed(conv string, m map[string]any) {
	meta, _ := m["metadata"].(map[string]any)
	sender := str(m, "senderId")
	for key, l := range s.streams[conv] {
		if key == str(meta, "stream_id") || l.Sender == sender {
			delete(s.streams[conv], key)
		}
	}
	delete(s.typing[conv], sender)
}
