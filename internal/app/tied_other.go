//go:build !linux

package app

import (
	"os"
	"os/exec"
	"runtime"
)

// runTied runs a child; elsewhere than on Linux it is not tied to our life, and
// ends by itself when its connection and key are gone.
func runTied(cmd *exec.Cmd) error { return cmd.Run() }

func interrupt(cmd *exec.Cmd) error {
	if runtime.GOOS == "windows" {
		return cmd.Process.Kill()
	}
	return cmd.Process.Signal(os.Interrupt)
}
