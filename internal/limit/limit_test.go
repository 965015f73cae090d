package limit_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/limit"
)

func TestTakeAndPeek(t *testing.T) {
	t.Parallel()
	b := limit.New(0.001, 2, 10)
	for range 2 {
		if _, ok := b.Take("a"); !ok {
			t.Fatal("burst of two")
		}
	}
	if wait, ok := b.Take("a"); ok || wait <= 0 {
		t.Fatal("third must wait")
	}
	if _, ok := b.Peek("a"); ok {
		t.Fatal("peek sees it")
	}
	if _, ok := b.Peek("b"); !ok {
		t.Fatal("another key is free")
	}
	for n := range 100 {
		b.Take(fmt.Sprint(n))
	}
}

// TestW3_LongKeysAreNotKept: who fills the memory of a limit does not choose its size.
func TestW3_LongKeysAreNotKept(t *testing.T) { // not parallel: it measures
	b := limit.New(0.001, 1, 1000)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for n := range 100 {
		b.Take(strings.Repeat("x", 1<<20) + fmt.Sprint(n))
	}
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("100 keys of a megabyte take %d bytes", grown)
	}
	if _, ok := b.Take(strings.Repeat("x", 1<<20) + "7"); ok {
		t.Error("a long key is not known again")
	}
	runtime.KeepAlive(b)
}
