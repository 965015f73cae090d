package claudecode

// KillForTest ends a conversation's process as the kernel would.
func (b *Backend) KillForTest(conversationID string) {
	b.mu.Lock()
	c := b.convs[conversationID]
	b.mu.Unlock()
	c.live.Load().Kill()
}
