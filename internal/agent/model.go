package agent

import (
	"encoding/json"
	"slices"

	"github.com/agntchat/agntchat/internal/fault"
)

// backends are the stored names of model backends (bridge 4.4, desktop 5.4); the
// demo script is never one of them (decision 8).
var backends = []string{"anthropic", "openai", "openrouter", "openclaw", "google", "xai", "claude_cli", "codex_cli"}

// aliases are what people write; the stored name is the contract's.
var aliases = map[string]string{"claude": "claude_cli", "codex": "codex_cli"}

var modelEnums = map[string][]string{
	"execution_mode": {"single_shot", "tool_use", "code_action"},
	"effort":         {"low", "medium", "high", "max"},
	"cli_connection": {"subscription", "anthropic", "bedrock", "vertex", "openai"},
}

// CleanModelConfig checks a sparse model configuration: known values for closed
// keys, aliases replaced, secrets refused; null clears a key. Unknown keys are
// kept: bridges have their own.
func CleanModelConfig(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	bad := func(key, msg string) error {
		return fault.New(fault.Invalid, "invalid", msg).With("modelConfig."+key, "invalid", msg)
	}
	var m map[string]json.RawMessage
	if len(raw) > 64<<10 || json.Unmarshal(raw, &m) != nil {
		return nil, bad("", "The model configuration must be an object of at most 64 KiB.")
	}
	for key, v := range m {
		if string(v) == "null" {
			continue
		}
		var s string
		isText := json.Unmarshal(v, &s) == nil
		switch {
		case key == "api_key" || key == "token":
			return nil, bad(key, "Keys do not belong here. Store them under model keys.")
		case key == "backend":
			if a, ok := aliases[s]; ok {
				s = a
				m[key], _ = json.Marshal(s)
			}
			if !isText || !slices.Contains(backends, s) {
				return nil, bad(key, "This backend is not known.")
			}
		case modelEnums[key] != nil && (!isText || !slices.Contains(modelEnums[key], s)):
			return nil, bad(key, "This value is not known.")
		case key == "model" && (!isText || len(s) > 200):
			return nil, bad(key, "A model is named by a text of at most 200 characters.")
		}
	}
	return json.Marshal(m)
}
