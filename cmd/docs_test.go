package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDocs runs every line of the README and of docs/*.md that begins with
// "$ herdscan" in a block marked "console", and compares what follows it with
// what the program prints.
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
				got := runExample(t, ex.command)
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

// runExample runs a documented command in the project's folder.
func runExample(t *testing.T, command string) string {
	t.Helper()
	t.Chdir("..")
	var out bytes.Buffer
	Run(context.Background(), Env{
		Args: strings.Fields(command), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	return strings.TrimRight(out.String(), "\n")
}
