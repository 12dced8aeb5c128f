package watch

import (
	"strconv"
	"testing"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// awaitState waits until the state is as wanted.
func awaitState(t *testing.T, w *Watcher, want func(State) bool) State {
	t.Helper()
	const patience = 90 * time.Second // only waited for when something is wrong
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s := w.State(); want(s) {
			return s
		}
	}
	t.Fatalf("the state is not as wanted: %+v", w.State().Rates)
	return State{}
}
