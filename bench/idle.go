package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/agntchat/agntchat/bench/load"
)

// idle opens many joined sockets on a server that has done nothing else and
// weighs what each leaves behind.
func (h *house) idle(ctx context.Context) error {
	n := 9500
	if h.quick {
		n = 1500
	}
	s, _, err := h.serve(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	ada, err := s.signUp("Ada")
	if err != nil {
		return err
	}
	bob, err := s.signUp("Bob")
	if err != nil {
		return err
	}
	room, err := s.room(ada, "group", bob)
	if err != nil {
		return err
	}
	spec := load.Spec{Path: socketPath(ada), Topic: "conversation:" + room}
	open := func(n int) (time.Duration, error) {
		spec.N = n
		begun := time.Now()
		_, err := h.crowd.do(load.Order{Do: "open", Set: "idle", Addr: s.addr, Specs: []load.Spec{spec}})
		return time.Since(begun), err
	}
	if _, err := open(100); err != nil { // what the first sockets need once is not theirs
		return err
	}
	type weight struct{ rss, heap, stack, kept float64 }
	weigh := func() (weight, error) {
		for range 3 {
			if err := s.collect(); err != nil {
				return weight{}, err
			}
			time.Sleep(time.Second) // the runtime gives memory back in the background
		}
		return weight{
			rss: float64(rss(s.pid())), heap: s.gauge("go_memstats_heap_alloc_bytes"), stack: s.gauge("go_memstats_stack_inuse_bytes"),
			kept: s.gauge("go_memstats_heap_idle_bytes") - s.gauge("go_memstats_heap_released_bytes"),
		}, nil
	}
	before, err := weigh()
	if err != nil {
		return err
	}
	var took time.Duration
	own, postgres, err := s.cpu(func() (err error) { took, err = open(n); return err })
	if err != nil {
		return err
	}
	h.table.at(fanSection, "joins of those sockets").add(colRate, float64(n)/took.Seconds()).add(colCPU, micros(own, int64(n))).add(colPG, micros(postgres, int64(n))).
		note = "upgrade, join, first window; 32 at a time"
	after, err := weigh()
	if err != nil {
		return err
	}
	per := func(a, b float64) float64 { return (a - b) / float64(n) / 1024 }
	row := h.table.at(fanSection, fmt.Sprintf("%d idle joined sockets, each", n)).add(colKiB, per(after.rss, before.rss))
	row.goal = "≤ 12 KiB"
	row.note = fmt.Sprintf("growth of RSS after GC; live heap %.1f + stacks %.1f + free pages that the runtime has not given back %.1f KiB",
		per(after.heap, before.heap), per(after.stack, before.stack), per(after.kept, before.kept))
	_, err = h.crowd.do(load.Order{Do: "close", Set: "idle"})
	return err
}

// collect makes the server collect its garbage: taking a heap profile does that.
func (s *server) collect() error {
	resp, err := http.Get("http://" + s.metrics + "/debug/pprof/heap?gc=1")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("heap profile: %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
