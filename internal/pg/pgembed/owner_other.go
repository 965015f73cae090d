//go:build unix && !linux

package pgembed

import (
	"bytes"
	"os/exec"
	"strconv"
	"syscall"
)

func privileged() handover   { return plainUser }
func unprivileged() handover { return plainUser }

// isPostmaster reports whether the process is a postmaster on this data folder.
func isPostmaster(pid int, dataDir string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && bytes.Contains(out, []byte("postgres")) && bytes.Contains(out, []byte(dataDir))
}

func (o Owner) attr() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if o.how != asOurselves {
		a.Credential = &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
	}
	return a
}

// dieWithUs can do nothing here: the next Start ends a leftover.
func dieWithUs(*syscall.SysProcAttr) {}

// inUse cannot tell here; Postgres's own check of shared memory does.
func inUse(string) bool { return false }
