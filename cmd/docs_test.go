package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/fixtures"
)

// TestDocs runs every line of the README and of docs/*.md that begins with
// "$ herdscan" in a block marked "console", and compares what follows it with
// what the program prints. The examples of docs/lint.md run in a folder that
// holds the demonstration's deploy folder, the others in the project's own.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../README.md")
	ran := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, ex := range consoleExamples(string(text)) {
			ran++
			t.Run(filepath.Base(page)+"/"+ex.command, func(t *testing.T) {
				folder := ".."
				if filepath.Base(page) == "lint.md" {
					folder = deployFolder(t)
				}
				got := runExample(t, folder, ex.command)
				if got != ex.want {
					t.Errorf("%s:\n--- documented\n%s\n--- printed\n%s", page, ex.want, got)
				}
			})
		}
	}
	if ran == 0 {
		t.Error("no example was run")
	}
}

type example struct{ command, want string }

// consoleExamples takes the commands and their output from fenced blocks.
func consoleExamples(text string) []example {
	var out []example
	for i, block := range strings.Split(text, "```") {
		body, console := strings.CutPrefix(block, "console\n")
		if i%2 == 0 || !console {
			continue
		}
		for part := range strings.SplitSeq("\n"+body, "\n$ herdscan ") {
			command, want, ok := strings.Cut(part, "\n")
			if strings.TrimSpace(part) == "" || !ok {
				continue
			}
			out = append(out, example{command, strings.TrimRight(want, "\n")})
		}
	}
	return out
}

// deployFolder makes a folder that holds the deploy folder of the demonstration.
func deployFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range fixtures.DeployFiles() {
		write(t, filepath.Join(dir, "deploy", f.Name), f.Text)
	}
	return dir
}

// runExample runs a documented command in a folder.
func runExample(t *testing.T, folder, command string) string {
	t.Helper()
	t.Chdir(folder)
	var out bytes.Buffer
	Run(context.Background(), Env{
		Args: strings.Fields(command), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	return strings.TrimRight(out.String(), "\n")
}
