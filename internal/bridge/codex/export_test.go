package codex

// KillForTest ends the process as the kernel would.
func (b *Backend) KillForTest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server.p.Kill()
}
