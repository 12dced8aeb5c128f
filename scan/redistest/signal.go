package redistest

import (
	"os"
	"testing"
)

// Signal sends a signal to the server's process: one that is stopped looks like a server behind a cut network.
func (s *Server) Signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}
