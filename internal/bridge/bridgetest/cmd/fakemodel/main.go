// Command fakemodel serves the fake model provider for tests that are not
// written in Go: the browser tests start real agent CLIs and SDKs against it.
//
// It prints one JSON line {"url":"http://127.0.0.1:…"} and then takes one JSON
// line per request on standard input, answering each with one line:
//
//	{"on":"text","steps":[{"text":"…","hold":"a"},{"tools":[{"name":"x","args":{}}]},{"status":401},{"empty":true}]}
//	    scripts the requests whose last question contains the text: one step per
//	    request, the last one repeats; unscripted questions are echoed
//	{"release":"a"}
//	    lets the streams go on that hold under this name after their first word
//	{"requests":"/v1/messages"}
//	    answers {"requests":N}, how many arrived on paths with this ending
//
// Other answers are {"ok":true}, or {"error":"…"} for a line it cannot read. It
// ends when standard input is closed.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
)

type command struct {
	On       string `json:"on"`
	Steps    []step `json:"steps"`
	Release  string `json:"release"`
	Requests string `json:"requests"`
}

type step struct {
	Text              string `json:"text"`
	Status            int    `json:"status"`
	RetryAfterSeconds int    `json:"retryAfterSeconds"`
	Cut               bool   `json:"cut"`
	Empty             bool   `json:"empty"`
	Hold              string `json:"hold"`
	Tools             []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"tools"`
}

func main() {
	server, stop := fakemodel.Open()
	err := run(server, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakemodel:", err)
		os.Exit(1)
	}
}

func run(server *fakemodel.Server, in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(out)
	if err := enc.Encode(map[string]any{"url": server.URL}); err != nil {
		return err
	}
	gates := map[string]chan struct{}{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		answer := map[string]any{"ok": true}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			answer = map[string]any{"error": err.Error()}
		} else if err := apply(server, gates, c, answer); err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		if err := enc.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func apply(server *fakemodel.Server, gates map[string]chan struct{}, c command, answer map[string]any) error {
	switch {
	case c.Requests != "":
		answer["requests"] = len(server.Requests(c.Requests))
	case c.Release != "":
		gate, held := gates[c.Release]
		if !held {
			return fmt.Errorf("nothing holds under %q", c.Release)
		}
		close(gate)
		delete(gates, c.Release)
	case c.On != "" && len(c.Steps) > 0:
		steps := make([]fakemodel.Step, len(c.Steps))
		for i, s := range c.Steps {
			steps[i] = fakemodel.Step{Text: s.Text, Status: s.Status, After: time.Duration(s.RetryAfterSeconds) * time.Second, Cut: s.Cut, Empty: s.Empty}
			for _, t := range s.Tools {
				steps[i].Tools = append(steps[i].Tools, fakemodel.Tool{Name: t.Name, Args: string(t.Args)})
			}
			if s.Hold != "" {
				if gates[s.Hold] == nil {
					gates[s.Hold] = make(chan struct{})
				}
				steps[i].Gate = gates[s.Hold]
			}
		}
		server.On(c.On, steps...)
	default:
		return errors.New("a line needs on and steps, or release, or requests")
	}
	return nil
}
