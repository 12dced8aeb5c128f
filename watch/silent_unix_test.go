//go:build unix

package watch

import (
	"strings"
	"syscall"
	"testing"

	"github.com/herdscan/herdscan/scan/redistest"
)

// A server that does not answer for a while (its process is stopped, as a cut
// network looks) is named as lost, and found again.
func TestServerIsSilent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w, _ := watching(t, server, Options{Redis: redisOptions(server, "", "")})
	awaitState(t, w, func(s State) bool { return s.Rates.Known })
	server.Signal(t, syscall.SIGSTOP)
	if why := limited(t, w, "redis"); !strings.Contains(why, "no answer in time") {
		t.Errorf("%q does not say what is wrong", why)
	}
	server.Signal(t, syscall.SIGCONT)
	unlimited(t, w, "redis")
	at := w.State().Rates.At
	awaitState(t, w, func(s State) bool { return s.Rates.Known && s.Rates.At.After(at) })
}
