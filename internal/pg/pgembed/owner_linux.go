package pgembed

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	capDACOverride   = 1
	capDACReadSearch = 2
)

// privileged chooses between the two ways that reach into root's folders.
func privileged() handover {
	if permitted()&(1<<capDACOverride) != 0 {
		return userWithCaps
	}
	return userNamespace
}

// unprivileged is how root hands over when every folder is open to the user. Root
// that may not enter a user's folder (as in some containers) keeps the files.
func unprivileged() handover {
	if permitted()&(1<<capDACOverride) != 0 {
		return plainUser
	}
	return userNamespace
}

// isPostmaster reports whether the process is a postmaster on this data folder.
func isPostmaster(pid int, dataDir string) bool {
	cmdline, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && bytes.Contains(cmdline, []byte("postgres")) && bytes.Contains(cmdline, []byte("\x00"+dataDir+"\x00"))
}

// inUse reports whether any process works in the data folder, as all of Postgres's do.
func inUse(dataDir string) bool {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is a constant and valid
	for _, l := range links {
		if cwd, err := os.Readlink(l); err == nil && cwd == dataDir {
			return true
		}
	}
	return false
}

// permitted is the set of capabilities that we may hand on.
func permitted() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte("CapPrm:")); ok {
			set, _ := strconv.ParseUint(string(bytes.TrimSpace(v)), 16, 64)
			return set
		}
	}
	return 0
}

func (o Owner) attr() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	cred := &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
	switch o.how {
	case asOurselves:
	case plainUser:
		a.Credential = cred
	case userWithCaps:
		a.Credential = cred
		for _, c := range []uintptr{capDACOverride, capDACReadSearch} {
			if permitted()&(1<<c) != 0 {
				a.AmbientCaps = append(a.AmbientCaps, c)
			}
		}
	case userNamespace:
		cred.NoSetGroups = true
		a.Credential = cred
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: o.uid, HostID: 0, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: o.gid, HostID: 0, Size: 1}}
	}
	return a
}

// dieWithUs makes the kernel send a fast shutdown when the thread that started
// the process ends, also by SIGKILL of the whole process.
func dieWithUs(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGINT }
