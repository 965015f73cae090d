package alarm

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
)

// LogFile is where alarms write what they did and what failed, in the user folder: codes and ids, nothing that a peer wrote.
const LogFile = "alarms.log"

// maxLog is when the log is rotated, in bytes; one older one is kept.
const maxLog = 256 << 10

// note adds a line to a user's log. An alarm has nowhere to say that this failed.
func note(user string, now time.Time, what string, args ...any) {
	path := filepath.Join(user, LogFile)
	if st, err := os.Stat(path); err == nil && st.Size() > maxLog {
		_ = os.Rename(path, path+".1")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|lockfile.NoFollow, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(now.UTC().Format(time.RFC3339) + " " + oneLine(fmt.Sprintf(what, args...), 400) + "\n")
	_ = f.Close()
}
