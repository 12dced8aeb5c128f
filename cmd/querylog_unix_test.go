//go:build unix

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe, as <(zcat slow.log.gz) makes one, gives every byte once: a look
// into it would lose the first records, and opening it again would hang.
func TestQueryLogNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte(strings.Join(stampedeLog(), "")), 0o600) }()
	got := found(t, runner{}.run("querylog", "--tz", "UTC", "--format", "json", path))
	if err := <-written; err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "slow.log")
	if err := os.WriteFile(file, []byte(strings.Join(stampedeLog(), "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if want := found(t, runner{}.run("querylog", "--tz", "UTC", "--format", "json", file)); got != want {
		t.Errorf("a pipe says\n%s\nwhere a file says\n%s", got, want)
	}
	runner{}.run("querylog", "--at", "2026-11-03T10:01:00Z", path).want(t, exitError, "a pipe")
}
