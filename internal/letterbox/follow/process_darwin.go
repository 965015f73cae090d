package follow

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of <sys/proc.h>.
const stateZombie = 5

// started identifies a process among all that ever had its id: when it began. It is an error when there is no such process, or only
// what is left of one that nobody has waited for.
func started(pid int) (string, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", fmt.Errorf("no such process: %w", err)
	}
	if p.Proc.P_stat == stateZombie || int(p.Proc.P_pid) != pid {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	at := p.Proc.P_starttime
	return strconv.FormatInt(at.Sec, 10) + "." + strconv.Itoa(int(at.Usec)), nil
}
