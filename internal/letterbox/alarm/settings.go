package alarm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
)

// SettingsFile is the name of a user's settings, in the user folder.
const SettingsFile = "alarms.json"

// Settings say what alarms may do for one user. A member that is not in the file has its default.
type Settings struct {
	Wake           bool `json:"wake"`            // letters may wake an idle session and keep a turn going; without it they wait for the next prompt
	DuringTurn     bool `json:"during_turn"`     // letters are shown between two tool calls of a turn
	MaxInARow      int  `json:"max_in_a_row"`    // wakes without a person's prompt between them
	WakesPerHour   int  `json:"wakes_per_hour"`  // of one session
	WakesInAll     int  `json:"wakes_in_all"`    // of one session, for as long as it lives
	PeerPerHour    int  `json:"peer_per_hour"`   // wakes of one session by letters of one sender
	PeerInAll      int  `json:"peer_in_all"`     // the same, for as long as the session lives
	MaxAuto        int  `json:"max_auto"`        // a letter with more automatic letters before it wakes nobody
	SendsPerHour   int  `json:"sends_per_hour"`  // letters that the model of a session may send with the tool
	SendUnverified bool `json:"send_unverified"` // the model may also write to contacts whose keys nobody verified
	MaxCharacters  int  `json:"max_characters"`  // of one letter as it is shown
	MaxAtOnce      int  `json:"max_at_once"`     // letters shown at once
	WakeCodexIdle  bool `json:"wake_codex_idle"` // wake an idle Codex over its control socket
}

// Defaults are the settings of a user who has none. Nothing is woken unasked.
func Defaults() Settings {
	return Settings{
		DuringTurn: true, MaxInARow: 3, WakesPerHour: 12, WakesInAll: 200, PeerPerHour: 6, PeerInAll: 60, MaxAuto: 2, SendsPerHour: 30, MaxCharacters: 8000, MaxAtOnce: 10,
	}
}

// LoadSettings reads a user's settings. A user without the file who has the check mode "auto" (contract letters 4.1) may be woken.
// A file that cannot be read is an error, and the settings are then the defaults: who mistypes a limit must not lose all limits.
func LoadSettings(user string) (Settings, error) {
	s := Defaults()
	raw, err := os.ReadFile(filepath.Join(user, SettingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		mode, err := os.ReadFile(filepath.Join(user, "check-mode"))
		s.Wake = err == nil && strings.TrimSpace(string(mode)) == "auto"
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read alarm settings: %w", err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return Defaults(), fmt.Errorf("read %s: %w", SettingsFile, err)
	}
	for _, limit := range []*int{&s.MaxInARow, &s.WakesPerHour, &s.WakesInAll, &s.PeerPerHour, &s.PeerInAll, &s.MaxAuto, &s.SendsPerHour} {
		*limit = min(max(*limit, 0), 100_000)
	}
	s.MaxCharacters = min(max(s.MaxCharacters, 100), 30_000)
	s.MaxAtOnce = min(max(s.MaxAtOnce, 1), 50)
	return s, nil
}

// SaveSettings writes a user's settings, whole or not at all.
func SaveSettings(user string, s Settings) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write alarm settings: %w", err)
	}
	path := filepath.Join(user, SettingsFile)
	if err := lockfile.Replace(path, append(raw, '\n')); err != nil {
		return fmt.Errorf("write alarm settings: %w", err)
	}
	return nil
}
