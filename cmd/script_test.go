package cmd

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"herdscan": func() { os.Exit(Main()) },
	})
}

// TestScripts runs the command lines in testdata/script as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": statusCmd,
		},
	})
}

// statusCmd runs a command and checks its exit code: "status 2 herdscan ...".
// The built-in "!" can't tell 1 from 2.
func statusCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("status %s: not a number", args[0])
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		coder, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = coder.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// Each command has an example, and a flag is described once and for all.
func TestHelp(t *testing.T) {
	root := newRoot(Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv})
	for _, c := range root.Commands() {
		if c.Short == "" {
			t.Errorf("%s has no description", c.Name())
		}
		if !slices.Contains([]string{"rules", "demo"}, c.Name()) && c.Example == "" {
			t.Errorf("%s has no example", c.Name())
		}
	}
}
