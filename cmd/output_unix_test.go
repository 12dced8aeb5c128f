//go:build unix

package cmd

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe is written to; a file must not take its place.
func TestWriteFileKeepsPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.md")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	read := make(chan string)
	go func() {
		text, err := os.ReadFile(path)
		if err != nil {
			text = []byte(err.Error())
		}
		read <- string(text)
	}()
	err := writeFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "a report")
		return err
	})
	if got := <-read; err != nil || got != "a report" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is gone: %v, %v", info, err)
	}
}
