package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/agntchat/agntchat/internal/bridge"
	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/session"
)

const bridgeHelp = `agnt bridge brings agents online and answers for them.

  agnt bridge                                     all agents set up by agnt connect
  agnt bridge --url URL --agent-id ID             one agent; its key comes from AGENT_API_KEY,
                                                  from agnt connect, or from --api-key-stdin
  agnt bridge --config agents.json                many agents: [{"agent_id","api_key","executor_key"?}] or
                                                  {"url","agents":[{"agent_id","api_key","backend"?,"model"?,"url"?,"letters"?,"letter_relay"?,
                                                  "letter_tools"?}]}
  agnt bridge --check                             tell what is wrong, and exit

Environment: AGNTCHAT_URL (or AGENTGRAM_API_URL), AGENT_ID, AGENT_API_KEY, EXECUTOR_KEY, MODEL_BACKEND,
MAX_CONCURRENT_TASKS, AGENTGRAM_DEVICE_NAME, AGNT_HOME, CLAUDE_CLI_PATH, CODEX_CLI_PATH,
ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL.

SIGTERM and Ctrl-C let running turns finish (see --drain) and give the rest back.

Flags:
`

type bridgeFlags struct {
	url, agentID, config, backend, model, baseURL, executorKey, home, device, logFormat, logLevel string
	maxConcurrent                                                                                 int
	maxTokens                                                                                     int64
	keyStdin, skipPerms, check, letters, letterTools                                              bool
	letterRelay                                                                                   string
	drain                                                                                         time.Duration
}

func parseBridge(args []string, env environment, out io.Writer) (bridgeFlags, error) {
	var f bridgeFlags
	fs := flag.NewFlagSet("agnt bridge", flag.ContinueOnError)
	fs.StringVar(&f.url, "url", env.url, "address of the server")
	fs.StringVar(&f.agentID, "agent-id", env.agentID, "id of the agent")
	fs.BoolVar(&f.keyStdin, "api-key-stdin", false, "read the agent's key from the first line of standard input")
	fs.StringVar(&f.config, "config", "", "JSON file with the agents to serve; it holds keys, keep it at mode 0600")
	fs.StringVar(&f.backend, "backend", env.backend, "claude, codex, anthropic, openai or scripted; default: what the agent's profile says, then what is installed")
	fs.StringVar(&f.model, "model", "", "model to use instead of the one in the agent's profile")
	fs.StringVar(&f.baseURL, "base-url", "", "provider address for anthropic and openai, for example a local model server")
	fs.Int64Var(&f.maxTokens, "max-tokens", 0, "longest answer in tokens, for anthropic and openai (0: the backend's default)")
	fs.IntVar(&f.maxConcurrent, "max-concurrent", env.maxConcurrent, "turns at a time per agent (0: the profile's number, then 4)")
	fs.StringVar(&f.executorKey, "executor-key", env.executorKey, "name of this place among the agent's bridges (default: one of its own, kept with its state)")
	fs.BoolVar(&f.skipPerms, "dangerously-skip-permissions", false, "let the CLI backends use every tool without asking, with your rights on this machine")
	fs.BoolVar(&f.letters, "letters", false, "let the agents be written to with encrypted letters: each gets an identity in its private folder, and its address is shown on its page")
	fs.BoolVar(&f.letterTools, "letter-tools", false, "with --letters: the agents' models may read letters of their contacts and write to verified ones")
	fs.StringVar(&f.letterRelay, "letter-relay", "", "relay of these letters (default: the server's own)")
	fs.StringVar(&f.home, "home", env.home, "folder for credentials, outbox and working folders")
	fs.StringVar(&f.device, "device-name", env.device, "name of this machine as people see it")
	fs.DurationVar(&f.drain, "drain", session.DefaultTiming().Drain, "how long a stopping bridge lets running turns finish")
	fs.StringVar(&f.logFormat, "log-format", "text", "text or json")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.BoolVar(&f.check, "check", false, "check server, key and model of every agent, print what is wrong, and exit")
	if err := parseFlags(fs, args, bridgeHelp, out); err != nil {
		return f, err
	}
	if err := knownBackend(f.backend); err != nil {
		return f, err
	}
	if fs.NArg() > 0 {
		return f, fmt.Errorf("%w: unexpected %q; keys are never given on the command line", errUsage, fs.Arg(0))
	}
	return f, nil
}

func runBridge(ctx context.Context, args []string, env environment, in io.Reader, out, errOut io.Writer) error {
	f, err := parseBridge(args, env, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log, err := logger(f, errOut)
	if err != nil {
		return err
	}
	agents, err := f.agents(env, in)
	if err != nil {
		return err
	}
	if st, err := os.Stat(f.config); err == nil && runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
		log.Warn("the configuration file holds keys and other users may read it; set its mode to 0600")
	}
	timing := session.DefaultTiming()
	timing.Drain = f.drain
	conf := bridge.Config{
		Agents: agents, Home: f.home, DeviceName: f.device, Version: version, MaxConcurrent: f.maxConcurrent,
		Machine: env.machine, Log: log, Timing: timing, LetterPassphraseFile: env.letter.PassphraseFile,
	}
	if f.check {
		return bridge.Check(ctx, conf, out)
	}
	return bridge.Run(ctx, conf)
}

// knownBackend refuses a name that would only fail later, turn by turn.
func knownBackend(name string) error {
	if name != "" && !backend.Known(name) {
		return fmt.Errorf("%w: there is no backend %q; there are claude, codex, anthropic, openai and scripted", errUsage, name)
	}
	return nil
}

func logger(f bridgeFlags, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, fmt.Errorf("%w: --log-level is debug, info, warn or error", errUsage)
	}
	opt := &slog.HandlerOptions{Level: level}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opt)), nil
	}
	return nil, fmt.Errorf("%w: --log-format is text or json", errUsage)
}

// agents collects what to serve: the file, the one agent named, or all that
// were connected here.
func (f bridgeFlags) agents(env environment, in io.Reader) ([]bridge.Agent, error) {
	var agents []bridge.Agent
	switch {
	case f.config != "":
		raw, err := os.ReadFile(f.config)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		if agents, err = bridge.ParseConfig(raw, f.url); err != nil {
			return nil, err
		}
	case f.agentID != "":
		a, err := f.one(env, in)
		if err != nil {
			return nil, err
		}
		agents = []bridge.Agent{a}
	default:
		stored, err := bridge.LoadAll(f.home)
		if err != nil {
			return nil, err
		}
		for _, c := range stored {
			agents = append(agents, c.Agent())
		}
	}
	for i := range agents {
		f.apply(&agents[i])
	}
	if len(agents) == 0 {
		return nil, bridge.ErrNoAgents
	}
	return agents, nil
}

func (f bridgeFlags) one(env environment, in io.Reader) (bridge.Agent, error) {
	a := bridge.Agent{ID: f.agentID, Key: env.agentKey}
	stored, err := bridge.Load(f.home, f.agentID)
	if err == nil {
		a = stored.Agent()
		if env.agentKey != "" {
			a.Key = env.agentKey
		}
	}
	if f.keyStdin {
		if a.Key, err = readLine(in); err != nil {
			return a, err
		}
	}
	if a.Key == "" {
		return a, fmt.Errorf("%w: the key of agent %s is missing: set AGENT_API_KEY, use --api-key-stdin, or run agnt connect first", errUsage, f.agentID)
	}
	if f.url != "" {
		a.URL = f.url
	}
	a.URL, err = bridge.CleanURL(a.URL)
	return a, err
}

// apply lets flags win over stored choices.
func (f bridgeFlags) apply(a *bridge.Agent) {
	if f.backend != "" {
		a.Backend = f.backend
	}
	if f.model != "" {
		a.Model = f.model
	}
	if f.baseURL != "" {
		a.BaseURL = f.baseURL
	}
	if f.executorKey != "" {
		a.ExecutorKey = f.executorKey
	}
	if f.letters || f.letterTools || f.letterRelay != "" {
		a.Letters = bridge.Letters{On: true, Relay: cmp.Or(f.letterRelay, a.Letters.Relay), Tools: f.letterTools || a.Letters.Tools}
	}
	a.SkipPerms, a.MaxTokens = f.skipPerms, f.maxTokens
}
