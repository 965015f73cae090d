package phx_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/realtime/phx"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", phx.MaxTopic+1)
	for _, tc := range []struct {
		name, frame string
		want        phx.Message
		err         error
	}{
		{name: "join", frame: `["1","1","user:7","phx_join",{"executor_id":"e"}]`,
			want: phx.Message{JoinRef: `"1"`, Ref: `"1"`, Topic: "user:7", Event: "phx_join", Payload: json.RawMessage(`{"executor_id":"e"}`)}},
		{name: "heartbeat", frame: `[null,"4","phoenix","heartbeat",{}]`,
			want: phx.Message{Ref: `"4"`, Topic: "phoenix", Event: "heartbeat", Payload: json.RawMessage(`{}`)}},
		{name: "number refs are echoed as they are", frame: `[1,2.5e3,"t","e",[]]`,
			want: phx.Message{JoinRef: "1", Ref: "2.5e3", Topic: "t", Event: "e", Payload: json.RawMessage(`[]`)}},
		{name: "spaces and nested commas", frame: " [ null , \"2\",\n\"t\\u00e9\" ,\"e\\\"x\", {\"a\":[1,\"]},\\\"\"]} ] ",
			want: phx.Message{Ref: `"2"`, Topic: "té", Event: `e"x`, Payload: json.RawMessage(`{"a":[1,"]},\""]}`)}},
		{name: "bare payload", frame: `[null,null,"t","e",null]`,
			want: phx.Message{Topic: "t", Event: "e", Payload: json.RawMessage(`null`)}},
		{name: "number payload", frame: `[null,null,"t","e",-1]`,
			want: phx.Message{Topic: "t", Event: "e", Payload: json.RawMessage(`-1`)}},
		{name: "empty", frame: ``, err: phx.ErrNotJSON},
		{name: "cut", frame: `["1","1","t","e",{}`, err: phx.ErrNotJSON},
		{name: "trailing text", frame: `["1","1","t","e",{}]x`, err: phx.ErrNotJSON},
		{name: "V1 object", frame: `{"topic":"t","event":"e","ref":"1","payload":{}}`, err: phx.ErrShape},
		{name: "string", frame: `"ping"`, err: phx.ErrShape},
		{name: "empty array", frame: `[]`, err: phx.ErrShape},
		{name: "four", frame: `["1","1","t","e"]`, err: phx.ErrShape},
		{name: "six", frame: `["1","1","t","e",{},{}]`, err: phx.ErrShape},
		{name: "object ref", frame: `[{},"1","t","e",{}]`, err: phx.ErrShape},
		{name: "bool ref", frame: `["1",true,"t","e",{}]`, err: phx.ErrShape},
		{name: "null topic", frame: `["1","1",null,"e",{}]`, err: phx.ErrBadNames},
		{name: "empty event", frame: `["1","1","t","",{}]`, err: phx.ErrBadNames},
		{name: "number event", frame: `["1","1","t",7,{}]`, err: phx.ErrBadNames},
		{name: "long topic", frame: `["1","1","` + long + `","e",{}]`, err: phx.ErrTooLong},
		{name: "long ref", frame: `["1","` + long + `","t","e",{}]`, err: phx.ErrTooLong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := phx.Decode([]byte(tc.frame))
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Fatalf("got %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		message phx.Message
		want    string
	}{
		{phx.Message{Topic: "t", Event: "e"}, `[null,null,"t","e",{}]`},
		{phx.Message{JoinRef: `"1"`, Ref: "7", Topic: "a\"b", Event: "é", Payload: json.RawMessage(`[1]`)}, `["1",7,"a\"b","é",[1]]`},
		{phx.Message{Ref: `"2"`, Topic: "phoenix", Event: phx.EventReply, Payload: phx.Reply(phx.StatusOK, nil)},
			`[null,"2","phoenix","phx_reply",{"status":"ok","response":{}}]`},
	} {
		if got := string(phx.Append(nil, tc.message)); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   any
		want string
		ok   bool
	}{
		{nil, `{}`, true},
		{json.RawMessage(nil), `{}`, true},
		{json.RawMessage(`{"a":1}`), `{"a":1}`, true},
		{json.RawMessage(`{"a":1`), ``, false},
		{map[string]string{"html": "<b>&"}, `{"html":"<b>&"}`, true},
		{make(chan int), ``, false},
	} {
		got, err := phx.Marshal(tc.in)
		if (err == nil) != tc.ok || string(got) != tc.want {
			t.Errorf("Marshal(%v) = %s, %v", tc.in, got, err)
		}
	}
}

func TestPeekEvent(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]string{
		`["1","2","conversation:1","new_message",{"content":"aaa`: "new_message",
		`[null, 2 ,"t\"," , "e" ,`:                                "e",
		`["1","2","conversation:1","new_mess`:                     "",
		`{"event":"new_message"`:                                  "",
		`["1","2"`:                                                "",
		`["1" "2"`:                                                "",
		``:                                                        "",
	} {
		if got := phx.PeekEvent([]byte(frame)); got != want {
			t.Errorf("PeekEvent(%s) = %q, want %q", frame, got, want)
		}
	}
}

// FuzzDecode checks Decode against encoding/json, and that what was decoded can
// be encoded and decoded again without change.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`["1","1","user:7","phx_join",{"a":[1,{"b":"]"}]}]`, `[null,"4","phoenix","heartbeat",{}]`,
		` [ 1 , -2e9 , "\u00e9\\" , "e" , "x,y" ] `, `[null,null,"t","e",null]`, `[]`, `{}`, `["","","","",""]`, `[1,1,1,1,1,1]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		phx.PeekEvent(frame)
		m, err := phx.Decode(frame)
		var parts []json.RawMessage
		reference := json.Unmarshal(frame, &parts)
		if err != nil {
			var topic, event string
			if reference == nil && len(parts) == 5 && errors.Is(err, phx.ErrNotJSON) &&
				json.Unmarshal(parts[2], &topic) == nil && json.Unmarshal(parts[3], &event) == nil {
				t.Fatalf("refused %q: %v", frame, err)
			}
			return
		}
		if reference != nil || len(parts) != 5 {
			t.Fatalf("accepted %q: %v, %d parts", frame, reference, len(parts))
		}
		if string(m.Payload) != string(parts[4]) {
			t.Fatalf("payload %q, want %q", m.Payload, parts[4])
		}
		var topic string
		if err := json.Unmarshal(parts[2], &topic); err != nil || topic != m.Topic {
			t.Fatalf("topic %q, want %q", m.Topic, topic)
		}
		if event := phx.PeekEvent(frame); event != m.Event {
			t.Fatalf("peeked %q, want %q", event, m.Event)
		}
		again, err := phx.Decode(phx.Append(nil, m))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("again %+v, %v, want %+v", again, err, m)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	frame := []byte(`["12","57","conversation:6c5ad31c-3a21-4a5a-9d8e-2f5e9d1f6c3b","new_message",{"content":"` +
		strings.Repeat("hello ", 20) + `","content_type":"text","metadata":{"client_nonce":"n"}}]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := phx.Decode(frame); err != nil {
			b.Fatal(err)
		}
	}
}
