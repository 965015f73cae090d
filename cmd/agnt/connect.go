package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/agntchat/agntchat/internal/bridge"
)

const connectHelp = `agnt connect sets up an agent on this machine and checks it.

  agnt connect --url URL --agent-id ID --api-key-stdin    with the key on standard input
  agnt connect --url URL inv_CODE                         with an invite
  agnt connect --session --tool claude --url URL inv_CODE make your own Claude Code (or codex) speak as an agent;
                                                          --remove takes that out of its settings again
  agnt connect                                            asks; a connect string (agnt://… or JSON) may be pasted

The key is stored in a file that only you can read. Start the agent with: agnt bridge

Flags:
`

func runConnect(ctx context.Context, args []string, env environment, in io.Reader, out io.Writer) error {
	fs := flag.NewFlagSet("agnt connect", flag.ContinueOnError)
	c := bridge.Credentials{}
	fs.StringVar(&c.URL, "url", env.url, "address of the server")
	fs.StringVar(&c.AgentID, "agent-id", env.agentID, "id of the agent")
	keyStdin := fs.Bool("api-key-stdin", false, "read the key from the first line of standard input")
	fs.StringVar(&c.Backend, "backend", "", "backend to use for this agent: claude, codex, anthropic or openai; default: its profile, then what is installed")
	fs.StringVar(&c.Model, "model", "", "model to use for this agent instead of the one in its profile")
	fs.BoolVar(&c.Letters, "letters", false, "let the agent be written to with encrypted letters (see agnt bridge --letters)")
	fs.BoolVar(&c.LetterTools, "letter-tools", false, "let the agent's models read and write letters (see agnt bridge --letter-tools)")
	fs.StringVar(&c.LetterRelay, "letter-relay", "", "relay of these letters (default: the server's own)")
	home := fs.String("home", env.home, "folder for credentials")
	own := fs.Bool("session", false, "connect your own sessions of a tool, instead of an agent that agnt bridge runs")
	set := bridge.SessionSetup{}
	fs.StringVar(&set.Tool, "tool", "claude", "with --session: claude or codex")
	fs.BoolVar(&set.Remove, "remove", false, "with --session: take the hook out of the tool's settings")
	if err := parseFlags(fs, args, connectHelp, out); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if err := knownBackend(c.Backend); err != nil {
		return err
	}
	conf := bridge.Config{Home: *home, Version: version, DeviceName: env.device, Machine: env.machine}
	switch {
	case set.Tool != "claude" && set.Tool != "codex":
		return fmt.Errorf("%w: --tool is claude or codex", errUsage)
	case set.Remove && !*own:
		return fmt.Errorf("%w: --remove goes with --session", errUsage)
	case set.Remove:
		return bridge.ConnectSession(ctx, *home, c, "", set, conf, out)
	}
	c.APIKey = env.agentKey
	invite := env.invite
	lines := bufio.NewReader(in)
	switch {
	case fs.NArg() > 1:
		return fmt.Errorf("%w: one invite code or nothing", errUsage)
	case fs.NArg() == 1 && strings.HasPrefix(fs.Arg(0), "inv_"):
		invite = fs.Arg(0)
	case fs.NArg() == 1:
		return fmt.Errorf("%w: only an invite code (inv_…) is taken from the command line; paste keys and connect strings when asked", errUsage)
	case *keyStdin:
		key, err := readLine(lines)
		if err != nil {
			return err
		}
		if pasted, ok, err := bridge.ParseConnect(key); err != nil {
			return err
		} else if ok {
			c = c.Fill(pasted)
		} else {
			c.APIKey = key
		}
	}
	ask := func(question string) (string, error) {
		_, _ = fmt.Fprint(out, question)
		answer, err := readLine(lines)
		if err != nil {
			_, _ = fmt.Fprintln(out) // the question's line is not the error's
		}
		return answer, err
	}
	if err := fillConnect(&c, &invite, *keyStdin, ask); err != nil {
		return err
	}
	if *own {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		set.Program = self
		return bridge.ConnectSession(ctx, *home, c, invite, set, conf, out)
	}
	return bridge.Connect(ctx, *home, c, invite, conf, out)
}

// fillConnect asks for what is missing, unless input is not a conversation.
func fillConnect(c *bridge.Credentials, invite *string, quiet bool, ask func(string) (string, error)) error {
	if *invite == "" && c.APIKey == "" && !quiet {
		v, err := ask("Paste the agent's key, its connect string or an invite code: ")
		if err != nil {
			return err
		}
		pasted, ok, err := bridge.ParseConnect(v)
		switch {
		case err != nil:
			return err
		case ok:
			*c = c.Fill(pasted)
		case strings.HasPrefix(v, "inv_"):
			*invite = v
		default:
			c.APIKey = v
		}
	}
	if c.URL == "" && !quiet {
		v, err := ask("Address of the server: ")
		if err != nil {
			return err
		}
		c.URL = v
	}
	if *invite == "" && c.AgentID == "" && !quiet {
		v, err := ask("Id of the agent: ")
		if err != nil {
			return err
		}
		c.AgentID = v
	}
	if *invite == "" && (c.AgentID == "" || c.APIKey == "") {
		return fmt.Errorf("%w: the agent's id and key are needed", errUsage)
	}
	return nil
}

// readLine reads one line; an empty one is an error, because every question
// needs an answer.
func readLine(in io.Reader) (string, error) {
	r, ok := in.(*bufio.Reader)
	if !ok {
		r = bufio.NewReader(in)
	}
	line, err := r.ReadString('\n')
	if line = strings.TrimSpace(line); line != "" {
		return line, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read input: %w", err)
	}
	return "", fmt.Errorf("%w: nothing was entered", errUsage)
}
