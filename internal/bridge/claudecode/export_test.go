package claudecode

// KillForTest ends a conversation's process as the kernel would.
func (b *Backend) KillForTest(conversationID string) {
	b.mu.Lock()
	c := b.convs[conversationID]
	b.mu.Unlock()
	c.live.Load().Kill()
}

// LiveForTest is the number of running processes.
func (b *Backend) LiveForTest() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.convs {
		if c.live.Load() != nil {
			n++
		}
	}
	return n
}

// CloseHooksForTest takes the hook server away.
func (b *Backend) CloseHooksForTest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.hooks.at.Close()
}

// HarmlessForTest is harmless.
var HarmlessForTest = harmless
