//go:build unix && !linux

package pgembed

import "syscall"

func privileged() handover { return plainUser }

func (o Owner) attr() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if o.how != asOurselves {
		a.Credential = &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
	}
	return a
}

// dieWithUs can do nothing here: the next Start ends a leftover.
func dieWithUs(*syscall.SysProcAttr) {}
