package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Credentials are what `agnt connect` stores for one agent, in a file only the
// user may read.
type Credentials struct {
	URL         string `json:"url"`
	AgentID     string `json:"agent_id"`
	APIKey      string `json:"api_key"`
	DisplayName string `json:"display_name,omitempty"`
	Backend     string `json:"backend,omitempty"`
	Model       string `json:"model,omitempty"`
	Letters     bool   `json:"letters,omitempty"`      // the agent can be written to with encrypted letters
	LetterRelay string `json:"letter_relay,omitempty"` // empty: the server's own
	LetterTools bool   `json:"letter_tools,omitempty"` // its models may read and write letters
}

// Agent turns stored credentials into an agent to serve.
func (c Credentials) Agent() Agent {
	return Agent{URL: c.URL, ID: c.AgentID, Key: c.APIKey, Backend: c.Backend, Model: c.Model, Letters: Letters{On: c.Letters || c.LetterTools, Relay: c.LetterRelay, Tools: c.LetterTools}}
}

// Save writes credentials below home (folders 0700, file 0600), replacing
// older ones of the same agent in one step.
func Save(home string, c Credentials) error {
	dir := AgentDir(home, c.AgentID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store credentials: %w", err)
	}
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("store credentials: %w", err)
	}
	f, err := os.CreateTemp(dir, "credentials-*.tmp") // made with mode 0600
	if err != nil {
		return fmt.Errorf("store credentials: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, "credentials.json"))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("store credentials: %w", err)
	}
	return nil
}

// Load reads the credentials of one agent; os.ErrNotExist when there are none.
func Load(home, agentID string) (Credentials, error) {
	return readCredentials(filepath.Join(AgentDir(home, agentID), "credentials.json"))
}

func readCredentials(name string) (Credentials, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return Credentials{}, fmt.Errorf("read credentials: %w", err)
	}
	var c Credentials
	if err := json.Unmarshal(raw, &c); err != nil {
		return Credentials{}, fmt.Errorf("read credentials %s: %w", name, err)
	}
	return c, nil
}

// LoadAll reads every agent that was connected on this machine, by id.
func LoadAll(home string) ([]Credentials, error) {
	names, err := filepath.Glob(filepath.Join(home, "agents", "*", "credentials.json"))
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	sort.Strings(names)
	var all []Credentials
	for _, name := range names {
		c, err := readCredentials(name)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// configEntry is one agent of a --config file.
type configEntry struct {
	AgentID     string `json:"agent_id"`
	APIKey      string `json:"api_key"`
	ExecutorKey string `json:"executor_key"`
	URL         string `json:"url"`
	Backend     string `json:"backend"`
	Model       string `json:"model"`
	BaseURL     string `json:"base_url"`
	Letters     bool   `json:"letters"`
	LetterRelay string `json:"letter_relay"`
	LetterTools bool   `json:"letter_tools"`
}

// ParseConfig reads a --config file: the array form of other bridges
// ([{agent_id, api_key, executor_key?}]) or our own ({url?, agents: […]} with
// url, backend, model, base_url, letters, letter_relay and letter_tools per agent). fallbackURL fills missing ones.
func ParseConfig(raw []byte, fallbackURL string) ([]Agent, error) {
	var entries []configEntry
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		if err := json.Unmarshal(raw, &entries); err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
	} else {
		var own struct {
			URL    string        `json:"url"`
			Agents []configEntry `json:"agents"`
		}
		if err := json.Unmarshal(raw, &own); err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		entries = own.Agents
		if own.URL != "" {
			fallbackURL = own.URL
		}
	}
	if len(entries) == 0 {
		return nil, errors.New("read configuration: it names no agent")
	}
	var agents []Agent
	seen := map[string]bool{}
	for i, e := range entries {
		if e.AgentID == "" || e.APIKey == "" {
			return nil, fmt.Errorf("read configuration: entry %d needs agent_id and api_key", i+1)
		}
		if seen[e.AgentID] {
			return nil, fmt.Errorf("read configuration: agent %s is named twice", e.AgentID)
		}
		seen[e.AgentID] = true
		if e.URL == "" {
			e.URL = fallbackURL
		}
		base, err := CleanURL(e.URL)
		if err != nil {
			return nil, fmt.Errorf("read configuration: entry %d: %w", i+1, err)
		}
		if e.ExecutorKey == "" {
			e.ExecutorKey = fmt.Sprintf("agnt-%d", i)
		}
		agents = append(agents, Agent{
			URL: base, ID: e.AgentID, Key: e.APIKey, ExecutorKey: e.ExecutorKey,
			Backend: e.Backend, Model: e.Model, BaseURL: e.BaseURL, Letters: Letters{On: e.Letters || e.LetterTools, Relay: e.LetterRelay, Tools: e.LetterTools},
		})
	}
	return agents, nil
}

// CleanURL checks a server address and takes off what people paste too much:
// a trailing slash, /api or /api/gateway.
func CleanURL(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", errors.New("the server address is missing; use --url or AGNTCHAT_URL, for example http://127.0.0.1:4000")
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%q is no server address; it should look like https://chat.example.org", s)
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api/gateway")
	path = strings.TrimRight(strings.TrimSuffix(path, "/api"), "/")
	return u.Scheme + "://" + u.Host + path, nil
}
