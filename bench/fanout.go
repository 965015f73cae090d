package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/bench/load"
)

const fanSection = "fan-out"

// body is the text of a message; # is where the load generator puts its number.
var body = "# " + strings.Repeat("x", 118)

// Sizes of the fan-out: sockets of a large room, small rooms and their sockets,
// senders.
const (
	large   = 1000
	rooms   = 100
	inRoom  = 10
	senders = 16
	stalled = 20
)

// reference is the bare server in a child process.
type reference struct {
	cmd  *exec.Cmd
	addr string
}

func (h *house) startReference(ctx context.Context) (*reference, error) {
	bin := filepath.Join(h.dir, "reference")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "./bench/reference")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the reference: %w\n%s", err, out)
	}
	r := &reference{cmd: exec.Command(bin)}
	r.cmd.Stderr = os.Stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if _, err := r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	r.addr = strings.TrimSpace(line)
	return r, err
}

func (r *reference) stop() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// fan is the stage of the fan-out section.
type fan struct {
	*house
	srv      *server
	rival    *server // the other build, or nil
	ref      *reference
	ada, bob who
	nova     who
	room     string      // of people: one account holds all its sockets
	streams  string      // with an agent
	crowded  string      // of a thousand accounts
	users    []load.Spec // their sockets
	size     int         // bytes of a new_message frame
	open     []string    // sets of sockets, in the order in which they were opened
}

func (h *house) fanOut(ctx context.Context) (err error) {
	f := &fan{house: h}
	var address string
	if f.srv, address, err = h.serve(ctx); err != nil {
		return err
	}
	defer f.srv.stop()
	if f.ref, err = h.startReference(ctx); err != nil {
		return err
	}
	defer f.ref.stop()
	if h.rival != "" {
		if f.rival, _, err = h.serveBuild(ctx, h.rival); err != nil {
			return err
		}
		defer f.rival.stop()
	}
	if err := f.people(ctx, address); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := f.sockets(); err != nil {
		return fmt.Errorf("open sockets: %w", err)
	}
	if err := f.rest(); err != nil {
		return err
	}
	if h.profile != "" {
		wait := f.srv.record(h.profile, 5)
		defer func() { err = errors.Join(err, wait()) }()
	}
	defer f.ratios()
	for round := 0; h.again(round); round++ {
		progress("fan-out: round %d", round+1)
		if err := f.round(round); err != nil {
			return err
		}
	}
	if h.match.MatchString(storm) && f.rival == nil {
		if err := f.storm(); err != nil {
			return err
		}
	}
	for _, set := range f.open {
		if _, err := h.crowd.do(load.Order{Do: "close", Set: set}); err != nil {
			return err
		}
	}
	return nil
}

// people makes accounts and rooms. The thousand accounts sign up over the API and
// are seated with one statement.
func (f *fan) people(ctx context.Context, address string) (err error) {
	if f.ada, err = f.srv.signUp("Ada"); err == nil {
		f.bob, err = f.srv.signUp("Bob")
	}
	if err == nil {
		f.nova, err = f.srv.agent(f.ada, "Nova", 1)
	}
	if err == nil {
		f.room, err = f.srv.room(f.ada, "group", f.bob)
	}
	if err == nil {
		f.crowded, err = f.srv.room(f.ada, "group", f.bob)
	}
	if err == nil {
		f.streams, err = f.srv.room(f.ada, "direct", f.nova)
	}
	if err != nil {
		return err
	}
	if f.rival != nil { // two builds are compared with the same load: one room
		return nil
	}
	var mu sync.Mutex
	var all []who
	var wg sync.WaitGroup
	var failed error
	for part := range 8 {
		wg.Go(func() {
			for n := part; n < large; n += 8 {
				w, err := f.srv.signUp(fmt.Sprint("Member ", n))
				mu.Lock()
				all = append(all, w)
				failed = errors.Join(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	specs := []load.Spec{{N: senders, Path: socketPath(f.ada), Topic: "conversation:" + f.crowded, Send: push(f.crowded)}}
	for _, w := range all {
		specs = append(specs, load.Spec{N: 1, Path: socketPath(w), Topic: "user:" + w.ID, Prefix: prefix("user:"+w.ID, "conversation_updated")})
	}
	f.users = specs
	if err := f.openSet("users", f.srv.addr, specs); err != nil {
		return err
	}
	if err := f.srv.quiet(20 * time.Second); err != nil { // they are being told to nobody
		return err
	}
	return seat(ctx, address, f.crowded, all)
}

// seat makes them members. They are online before that: a thousand people of one room
// who come online at once are told to each other, and that is another measurement.
func seat(ctx context.Context, address, room string, all []who) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	ids := make([]string, len(all))
	for i, w := range all {
		ids[i] = w.ID
	}
	_, err = conn.Exec(ctx, `INSERT INTO conversation_members (conversation_id, participant_id) SELECT $1::uuid, unnest($2::uuid[])`, room, ids)
	return err
}

func prefix(topic, event string) string { return fmt.Sprintf(`[null,null,%q,%q,`, topic, event) }

func push(room string) string {
	return fmt.Sprintf(`["1","2","conversation:%s","new_message",{"content":%q,"content_type":"text"}]`, room, body)
}

func (f *fan) openSet(set, addr string, specs []load.Spec) error {
	if !slices.Contains(f.open, set) {
		f.open = append(f.open, set)
	}
	_, err := f.crowd.do(load.Order{Do: "open", Set: set, Addr: addr, Specs: specs})
	return err
}

func (f *fan) sockets() error {
	in := func(room, event string, n int, send string, group int) load.Spec {
		topic := "conversation:" + room
		return load.Spec{N: n, Path: socketPath(f.ada), Topic: topic, Prefix: prefix(topic, event), Send: send, Group: group}
	}
	err := f.openSet("room", f.srv.addr, []load.Spec{in(f.room, "new_message", large-senders, "", 0), in(f.room, "new_message", senders, push(f.room), 0)})
	if err != nil {
		return err
	}
	if f.rival != nil {
		return errors.Join(f.rivalSockets(), f.measureFrame(), f.referenceSockets())
	}
	var small []load.Spec
	for group := range rooms {
		room, err := f.srv.room(f.ada, "group", f.bob)
		if err != nil {
			return err
		}
		small = append(small, in(room, "new_message", 1, push(room), group), in(room, "new_message", inRoom-1, "", group))
	}
	if err := f.openSet("rooms", f.srv.addr, small); err != nil {
		return err
	}
	if err := f.openSet("streams", f.srv.addr, []load.Spec{in(f.streams, "message_streaming", large, "", 0)}); err != nil {
		return err
	}
	// The agent has an open claim in its room, so that its frames are those of a turn.
	_, err = f.crowd.do(load.Order{Do: "bridge", Set: "nova", Addr: f.srv.addr, Call: load.Call{
		Path: socketPath(f.nova), Topic: "user:" + f.nova.ID, Params: fmt.Sprintf(`{"executor_id":%q,"bridge_version":"2.11.24"}`, f.nova.Executor),
	}})
	if err == nil {
		err = f.srv.call("POST", "/api/conversations/"+f.streams+"/messages", f.ada.Token, map[string]any{"content": "go on"}, nil)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.measureFrame(), f.referenceSockets())
}

// measureFrame finds out how long a frame is, so that the references send as much.
func (f *fan) measureFrame() error {
	a, err := f.crowd.do(load.Order{Do: "run", Set: "room", Addr: f.srv.addr, Run: load.Run{Window: 1, Count: 20, Seconds: 5}})
	f.size = a.FrameBytes
	return err
}

// rivalSockets are those of one room on the other build.
func (f *fan) rivalSockets() error {
	ada, err := f.rival.signUp("Ada")
	if err != nil {
		return err
	}
	bob, err := f.rival.signUp("Bob")
	if err != nil {
		return err
	}
	room, err := f.rival.room(ada, "group", bob)
	if err != nil {
		return err
	}
	topic := "conversation:" + room
	spec := load.Spec{N: large - senders, Path: socketPath(ada), Topic: topic, Prefix: prefix(topic, "new_message")}
	send := spec
	send.N, send.Send = senders, push(room)
	return f.openSet("rival room", f.rival.addr, []load.Spec{spec, send})
}

func (f *fan) referenceSockets() error {
	const head, tail = `[null,null,"bench","new_message",{"content":"`, `"}]`
	frame := head + "#" + strings.Repeat("x", max(f.size-len(head)-len(tail)-9, 1)) + tail
	for _, design := range []string{"loop", "writers", "floor"} {
		spec := func(room string, n int, send string, group int) load.Spec {
			return load.Spec{N: n, Path: "/" + design + "?room=" + room, Prefix: `[null,null,"bench"`, Send: send, Group: group}
		}
		if err := f.openSet(design, f.ref.addr, []load.Spec{spec("large", large-senders, "", 0), spec("large", senders, frame, 0)}); err != nil {
			return err
		}
		if design == "floor" {
			continue
		}
		var small []load.Spec
		for group := range rooms {
			name := fmt.Sprint(group)
			small = append(small, spec(name, 1, frame, group), spec(name, inRoom-1, "", group))
		}
		if err := f.openSet(design+" rooms", f.ref.addr, small); err != nil {
			return err
		}
	}
	return nil
}

// rest is what the server uses while nothing happens.
func (f *fan) rest() error {
	const pause = 2 * time.Second
	own, postgres, err := f.srv.cpu(func() error { time.Sleep(pause); return nil })
	row := f.table.at(fanSection, "at rest with all sockets of this section, one second")
	row.add(colCPU, micros(own, int64(pause/time.Second))).add(colPG, micros(postgres, int64(pause/time.Second)))
	row.note = fmt.Sprintf("%.0f sockets", f.srv.gauge("agntchat_realtime_connections"))
	return err
}

// The rows of this section.
const (
	oneAtATime  = "1,000 sockets in one room, 1 in flight"
	burst       = "1,000 sockets in one room, 16 in flight"
	smallRooms  = "100 rooms of 10, 64 in flight"
	streamOne   = "transport only (stream frames of a running turn), 1,000 sockets, 1 in flight"
	streamBurst = "transport only (stream frames of a running turn), 1,000 sockets, 16 in flight"
	usersOne    = "user topics of 1,000 accounts, 1 in flight"
	usersBurst  = "user topics of 1,000 accounts, 16 in flight"
	fixedRate   = "1,000 sockets, 200 messages/s"
	storm       = "1,000 people of one room come online at once"
	fixedStall  = "the same beside 20 readers that have stalled: the others"
)

func of(design, what string) string { return design + ": " + what }

func (f *fan) round(round int) error {
	if _, err := f.crowd.do(load.Order{Do: "beat"}); err != nil {
		return err
	}
	if err := f.srv.quiet(2 * time.Second); err != nil { // the answers are not part of what is measured
		return err
	}
	seconds := 1.5
	if f.quick {
		seconds = .4
	}
	window := func(n int) load.Run { return load.Run{Window: n, Count: 30_000, Seconds: seconds} }
	type step struct {
		what, set string
		run       load.Run
		ref       bool
	}
	for _, s := range []step{
		{oneAtATime, "room", window(1), false},
		{of("bare loop", oneAtATime), "loop", window(1), true},
		{of("goroutine per socket", oneAtATime), "writers", window(1), true},
		{of("one write(2) each, no library", oneAtATime), "floor", window(1), true},
		{burst, "room", window(16), false},
		{of("bare loop", burst), "loop", window(16), true},
		{of("goroutine per socket", burst), "writers", window(16), true},
		{smallRooms, "rooms", window(64), false},
		{of("bare loop", smallRooms), "loop rooms", window(64), true},
		{of("goroutine per socket", smallRooms), "writers rooms", window(64), true},
		{streamOne, "streams", f.streamRun(window(1)), false},
		{streamBurst, "streams", f.streamRun(window(16)), false},
		{usersOne, "users", window(1), false},
		{usersBurst, "users", window(16), false},
		{fixedRate, "room", load.Run{Rate: 200, Count: 10_000, Seconds: 2 * seconds}, false},
	} {
		if !f.match.MatchString(s.what) || !slices.Contains(f.open, s.set) {
			continue
		}
		both := []func() error{func() error { return f.step(s.what, s.set, s.run, s.ref) }}
		if f.rival != nil && s.set == "room" {
			both = append(both, func() error { return f.stepOn(f.rival, of("against", s.what), "rival room", s.run) })
			if round%2 == 1 { // they take turns in going first
				slices.Reverse(both)
			}
		}
		for _, step := range both {
			if err := step(); err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
		}
	}
	if !f.match.MatchString(fixedStall) || f.rival != nil {
		return nil
	}
	topic := "conversation:" + f.room
	if err := f.openSet("stalled", f.srv.addr, []load.Spec{{N: stalled, Path: socketPath(f.bob), Topic: topic, Stall: true}}); err != nil {
		return err
	}
	if err := f.step(fixedStall, "room", load.Run{Rate: 200, Count: 10_000, Seconds: 3 * seconds}, false); err != nil {
		return fmt.Errorf("%s: %w", fixedStall, err)
	}
	_, err := f.crowd.do(load.Order{Do: "close", Set: "stalled"})
	return err
}

// storm is what it costs that everybody of a large room comes online within a
// moment: joins, snapshots, and each being told of the others.
func (f *fan) storm() error {
	progress("fan-out: %s", storm)
	if _, err := f.crowd.do(load.Order{Do: "close", Set: "users"}); err != nil {
		return err
	}
	time.Sleep(25 * time.Second) // the grace after which somebody is offline, and then the telling of it
	f.settled()
	began, before := time.Now(), f.srv.gauge(framesSent)
	var events, took float64
	own, postgres, err := f.srv.cpu(func() error {
		err := f.openSet("users", f.srv.addr, f.users)
		events, took = f.settled()-before, float64(time.Since(began).Milliseconds())
		return err
	})
	row := f.table.at(fanSection, storm)
	row.add(colCPU, micros(own, large)).add(colPG, micros(postgres, large)).add(colMillis, took)
	row.note = fmt.Sprintf("op = a person: upgrade, join, snapshot, and all others told; %.0f events; ms until none came for 3 s", events)
	return err
}

const framesSent = "agntchat_realtime_deliveries_total"

// settled waits until no event was sent for three seconds, and tells how many were.
func (f *fan) settled() float64 {
	for last, still := f.srv.gauge(framesSent), 0; ; {
		time.Sleep(500 * time.Millisecond)
		now := f.srv.gauge(framesSent)
		if still++; now != last {
			last, still = now, 0
		}
		if still == 6 {
			return now
		}
	}
}

func (f *fan) streamRun(r load.Run) load.Run {
	r.Conns = senders
	b := fmt.Sprintf(`{"stream_id":"bench","status":"streaming","phase":"writing","content":"#%s"}`, strings.Repeat("x", 8+118+250))
	n := len(b) + 8 // the marker's digits
	r.HTTP = fmt.Sprintf("POST /api/conversations/%s/stream HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		f.streams, f.nova.Token, n, b)
	return r
}

func (f *fan) step(what, set string, run load.Run, ref bool) error {
	if !ref {
		return f.stepOn(f.srv, what, set, run)
	}
	before := cpuOf(f.ref.cmd.Process.Pid)
	a, err := f.crowd.do(load.Order{Do: "run", Set: set, Addr: f.srv.addr, Run: run})
	if err != nil {
		return err
	}
	f.enter(f.table.at(fanSection, what).add(colCPU, micros(cpuOf(f.ref.cmd.Process.Pid)-before, a.Deliveries)), a)
	return nil
}

func (f *fan) stepOn(srv *server, what, set string, run load.Run) error {
	var a load.Answer
	own, postgres, err := srv.cpu(func() (err error) {
		a, err = f.crowd.do(load.Order{Do: "run", Set: set, Addr: srv.addr, Run: run})
		return err
	})
	if err != nil {
		return err
	}
	f.enter(f.table.at(fanSection, what).add(colCPU, micros(own, a.Deliveries)).add(colPG, micros(postgres, a.Deliveries)), a)
	return nil
}

func (f *fan) enter(row *row, a load.Answer) {
	row.add(colRate, float64(a.Deliveries)/a.Seconds).add(colP50, a.P50).add(colP99, a.P99)
	row.note = fmt.Sprintf("per s and per op = deliveries; frame of %d bytes", a.FrameBytes)
}

// ratios compares with both references of the same run.
func (f *fan) ratios() {
	at := func(what string) *row { return f.table.at(fanSection, what) }
	compare := func(what, base, column, goal string) {
		r := at(what)
		loop, writers := at(of("bare loop", base)).median(column), at(of("goroutine per socket", base)).median(column)
		if loop == 0 || writers == 0 {
			return
		}
		name := "deliveries/s"
		if column == colCPU {
			name = "server CPU"
		}
		r.add(colRatio, r.median(column)/loop)
		r.goal = goal
		r.note += fmt.Sprintf("; ratio = %s ÷ bare loop; ÷ goroutine per socket %.2f", name, r.median(column)/writers)
	}
	compare(oneAtATime, oneAtATime, colCPU, "ratio ≤ 0.75")
	floor := at(of("one write(2) each, no library", oneAtATime))
	if loop := at(of("bare loop", oneAtATime)).median(colCPU); loop > 0 && floor.median(colCPU) > 0 {
		floor.add(colRatio, floor.median(colCPU)/loop)
		floor.note += "; ratio = server CPU ÷ bare loop: nothing that writes each message when it comes is below it"
		at(oneAtATime).note += fmt.Sprintf("; ÷ one write(2) each %.2f", at(oneAtATime).median(colCPU)/floor.median(colCPU))
	}
	compare(burst, burst, colRate, "ratio ≥ 5")
	compare(streamOne, oneAtATime, colCPU, "")
	compare(streamBurst, burst, colRate, "")
	compare(smallRooms, smallRooms, colRate, "")
	compare(usersOne, oneAtATime, colCPU, "")
	compare(usersBurst, burst, colRate, "")
	s := at(fixedStall)
	if p := at(fixedRate).median(colP99); p > 0 {
		s.add(colRatio, s.median(colP99)/p)
		s.goal = "ratio about 1"
		s.note += "; ratio = p99 ÷ p99 without"
	}
	at(fixedRate).goal = "p99 ≤ 50 ms, nobody cut"
}
