package cronlint

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// A source file that somebody names is meant to be read; those that lie about
// in a folder are not.
func TestNamedCode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "Nightly.java")
	text := "class Nightly {\n  @Scheduled(cron = \"0 0 0 * * *\")\n  void run() {}\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		o    lint.Options
		want int
	}{
		{path, lint.Options{}, 0},
		{path, lint.Options{NamedCode: true}, 1},
		{dir, lint.Options{NamedCode: true}, 0},
		{dir, lint.Options{OptIn: []string{"code"}}, 1},
	} {
		res, err := Lint(context.Background(), []string{c.path}, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Entries) != c.want {
			t.Errorf("%s with %+v: %d schedules, want %d", c.path, c.o, len(res.Entries), c.want)
		}
	}
}
