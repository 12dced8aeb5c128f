package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/report"
)

// A result is what one command line printed, and its exit code.
type result struct {
	stdout, stderr string
	code           int
}

// runner runs command lines with an environment of its own.
type runner struct {
	env   map[string]string
	stdin string
	ctx   context.Context
}

func (r runner) run(args ...string) result {
	var out, errs bytes.Buffer
	ctx := r.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	code := Run(ctx, Env{
		Args: args, Stdin: strings.NewReader(r.stdin), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string { return r.env[name] }, Now: time.Now,
	})
	return result{out.String(), errs.String(), code}
}

// document reads the JSON that a command printed.
func (r result) document(t *testing.T) report.Document {
	t.Helper()
	var d report.Document
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil {
		t.Fatalf("no JSON: %v\n%s\n%s", err, r.stdout, r.stderr)
	}
	return d
}

// want checks the exit code and that a text is in what was printed.
func (r result) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	all := r.stdout + r.stderr
	if r.code != code {
		t.Errorf("exit code %d, want %d:\n%s", r.code, code, all)
	}
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%q is missing in:\n%s", text, all)
		}
	}
}

// never checks that a text appears nowhere.
func (r result) never(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("%q must not be in:\n%s%s", text, r.stdout, r.stderr)
		}
	}
}

// shared returns a folder of recorded data that lies beside the project.
// Without it the test is skipped, but for CI.
func shared(t *testing.T, name string) string {
	t.Helper()
	dir := "../../shared/" + name
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing", dir)
		}
		t.Skipf("%s is missing", dir)
	}
	return dir
}
