package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agntchat/agntchat/internal/bridge"
	"github.com/agntchat/agntchat/internal/letterbox/alarmcli"
	"github.com/agntchat/agntchat/internal/letterbox/cli"
)

// environment is everything agnt takes from its environment; only this file
// reads it.
type environment struct {
	url, agentID, agentKey, executorKey, invite string
	backend, device, home                       string
	maxConcurrent                               int
	hookDebug                                   bool
	machine                                     bridge.Machine
	letter                                      cli.Env
	session                                     string // of the agent's program that runs us
	interactive                                 bool   // a person sits at that program's terminal
	places                                      alarmcli.Places
}

func readEnv() environment {
	first := func(names ...string) string {
		for _, n := range names {
			if v := strings.TrimSpace(os.Getenv(n)); v != "" {
				return v
			}
		}
		return ""
	}
	e := environment{
		url:     first("AGNTCHAT_URL", "AGENTGRAM_API_URL", "AGNTCHAT_API_URL"),
		agentID: first("AGENT_ID"), agentKey: first("AGENT_API_KEY"), executorKey: first("EXECUTOR_KEY"), invite: first("INVITE_CODE"),
		backend: first("MODEL_BACKEND"), device: first("AGENTGRAM_DEVICE_NAME"), home: first("AGNT_HOME"),
		machine: bridge.Machine{
			Env:        os.Environ(),
			ClaudePath: first("CLAUDE_CLI_PATH"), CodexPath: first("CODEX_CLI_PATH"),
			AnthropicKey: first("ANTHROPIC_API_KEY"), AnthropicURL: first("ANTHROPIC_BASE_URL"), AnthropicModel: first("ANTHROPIC_MODEL"),
			OpenAIKey: first("OPENAI_API_KEY"), OpenAIURL: first("OPENAI_BASE_URL"), OpenAIModel: first("OPENAI_MODEL"),
		},
	}
	// Kept as they are: a passphrase may begin or end with a space.
	e.letter = cli.Env{
		Home: os.Getenv("RETALK_HOME"), User: os.Getenv("RETALK_USER"), Relay: os.Getenv("RETALK_RELAY"), APIKey: os.Getenv("RETALK_API_KEY"),
		Dir: os.Getenv("RETALK_DIR"), WatchPeer: os.Getenv("RETALK_WATCH_PEER"),
		Passphrase: os.Getenv("RETALK_PASSPHRASE"), PassphraseFile: os.Getenv("RETALK_PASSPHRASE_FILE"),
		SaveMessage: os.Getenv("RETALK_SAVE_MESSAGE"), UserAgent: os.Getenv("RETALK_USER_AGENT"), Login: first("LOGNAME", "USER", "USERNAME"),
	}
	e.letter.UserHome, _ = os.UserHomeDir()
	e.session = first("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "PI_SESSION_ID", "AGNT_LETTERS_SESSION")
	e.letter.Session = e.session
	e.interactive = first("CLAUDE_CODE_ENTRYPOINT") == "cli"
	e.places = alarmcli.Places{
		UserHome: e.letter.UserHome, ClaudeConfigDir: first("CLAUDE_CONFIG_DIR"), CodexHome: first("CODEX_HOME"), PiDir: first("PI_CODING_AGENT_DIR"), ConfigHome: first("XDG_CONFIG_HOME"),
		AgntHome: first("AGNT_HOME"),
	}
	e.hookDebug = first("AGNT_HOOK_DEBUG") == "1"
	e.maxConcurrent, _ = strconv.Atoi(first("MAX_CONCURRENT_TASKS"))
	if e.device == "" {
		if host, err := os.Hostname(); err == nil {
			e.device = strings.TrimSuffix(host, ".local")
		}
	}
	if e.home == "" {
		if dir, err := os.UserHomeDir(); err == nil {
			e.home = filepath.Join(dir, ".agnt")
		} else {
			e.home = ".agnt"
		}
	}
	return e
}
