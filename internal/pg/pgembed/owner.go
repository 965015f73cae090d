//go:build unix

package pgembed

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Owner says as whom Postgres runs. Postgres refuses root, so root hands over to
// an ordinary user; everybody else runs it as themselves.
type Owner struct {
	uid, gid int
	how      handover
}

type handover uint8

const (
	asOurselves   handover = iota
	plainUser              // setuid: the user can walk to every path
	userWithCaps           // setuid that keeps the right to walk through root's folders
	userNamespace          // root, called an ordinary user inside a user namespace
)

// OwnerFor chooses the way that can walk to all given paths (decision 28). The
// paths need not exist.
func OwnerFor(paths ...string) Owner {
	if os.Geteuid() != 0 {
		return Owner{uid: os.Geteuid(), gid: os.Getegid(), how: asOurselves}
	}
	o := Owner{uid: 65534, gid: 65534, how: plainUser}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, err1 := strconv.Atoi(u.Uid)
			gid, err2 := strconv.Atoi(u.Gid)
			if err1 == nil && err2 == nil && uid != 0 {
				o.uid, o.gid = uid, gid
				break
			}
		}
	}
	if o.how = unprivileged(); o.how == userNamespace {
		return o
	}
	for _, p := range paths {
		if !reachable(p, o.uid, o.gid) {
			o.how = privileged()
		}
	}
	return o
}

// reachable reports whether the user may walk through every folder above path.
func reachable(path string, uid, gid int) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil && !mayEnter(info, uid, gid) {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

func mayEnter(info os.FileInfo, uid, gid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	switch {
	case int(st.Uid) == uid:
		return info.Mode()&0o100 != 0
	case int(st.Gid) == gid:
		return info.Mode()&0o010 != 0
	}
	return info.Mode()&0o001 != 0
}

// Chown gives a file or folder to the owner.
func (o Owner) Chown(path string) error {
	if o.how == asOurselves || o.how == userNamespace {
		return nil
	}
	return os.Chown(path, o.uid, o.gid)
}

// ChownAll gives a folder and all in it to the owner.
func (o Owner) ChownAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if o.how == userNamespace {
			return os.Lchown(path, 0, 0)
		}
		return os.Lchown(path, o.uid, o.gid)
	})
}

// Command prepares a program that runs as the owner, in its own process group, so
// that a terminal's Ctrl-C reaches us first.
func (o Owner) Command(path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), path, args...) // it is ended by signals, never by a context
	cmd.Dir = "/"                                                   // our own working folder may be closed to the owner
	// Not our environment: it may hold keys, and the database's user can read its own.
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = o.attr()
	return cmd
}

// Owns reports whether a file or folder belongs to the owner.
func (o Owner) Owns(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	want := o.uid
	if o.how == userNamespace {
		want = 0
	}
	return ok && int(st.Uid) == want
}
