package follow

import (
	"fmt"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// detached makes a process that no console's end reaches.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

// stillActive is the exit code of a process that has none yet.
const stillActive = 259

// started identifies a process among all that ever had its id: when it began. It is an error when there is no such process, or one
// that has ended.
func started(pid int) (string, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", fmt.Errorf("no such process: %w", err)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var code uint32
	if err := windows.GetExitCodeProcess(h, &code); err != nil || code != stillActive {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), nil
}
