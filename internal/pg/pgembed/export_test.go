//go:build unix

package pgembed

// WithCaps and InNamespace force one of root's two ways into its own folders.
func (o Options) WithCaps() Options    { o.handover = new(userWithCaps); return o }
func (o Options) InNamespace() Options { o.handover = new(userNamespace); return o }

// Impatient is a start that gives up after two failures, and tries on without pauses.
func (o Options) Impatient() Options { o.maxFailures, o.pause = 2, firstBackoff; return o }

// CommandOf is the command that runs the server, without the tie to this process.
func CommandOf(s *Server) (path string, args []string, owner Owner) {
	c := s.command()
	return c.Path, c.Args[1:], s.owner
}
