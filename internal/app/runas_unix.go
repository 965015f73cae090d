//go:build unix

package app

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agntchat/agntchat/internal/config"
)

// runAs gives up root for good: the process makes the folder of files, gives it to
// that account and becomes it. A volume mounted into a machine belongs to root, and
// what answers strangers should not be root. Who is not root stays who it is.
func runAs(account config.Account, folder string) error {
	if !account.Given || os.Geteuid() != 0 {
		return nil
	}
	if err := handOver(account, folder); err != nil {
		return fmt.Errorf("AGNTCHAT_RUN_AS: %w", err)
	}
	// The groups first: who is not root any more may not change them.
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"other groups", func() error { return syscall.Setgroups(nil) }},
		{"group", func() error { return syscall.Setgid(account.GID) }},
		{"user", func() error { return syscall.Setuid(account.UID) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("AGNTCHAT_RUN_AS: change %s: %w", step.what, err)
		}
	}
	return nil
}

// handOver makes the folder the account's, with what is in it. Once it is, nothing
// in it is looked at again: all that comes later is written by that account.
func handOver(account config.Account, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == account.UID {
		return nil
	}
	var all []string
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	for n := len(all) - 1; n >= 0 && err == nil; n-- { // the folder itself last: an interrupted start begins again
		err = os.Lchown(all[n], account.UID, account.GID)
	}
	return err
}
