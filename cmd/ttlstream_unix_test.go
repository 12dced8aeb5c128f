//go:build unix

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe, as <(zcat dump.rdb.gz) makes one, gives every byte once: nothing may look into it first.
func TestTTLNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	written := make(chan error, 1)
	go func() {
		written <- os.WriteFile(path, []byte("key\tttl\n"+strings.Repeat("page:1\t3600\n", 50)), 0o600)
	}()
	runner{}.run("ttl", path, "--now", "1800000000").want(t, exitFindings, "50 keys read")
	if err := <-written; err != nil {
		t.Error(err)
	}
}
