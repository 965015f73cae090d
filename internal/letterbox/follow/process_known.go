//go:build linux || darwin || windows

package follow

// alive says whether there is a process of that id.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	_, err := started(pid)
	return err == nil
}
