package limit_test

import (
	"fmt"
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
