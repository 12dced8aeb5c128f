// Package cmd is the command line of herdscan: flags, environment, settings
// file, terminal, progress and exit codes.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/herdscan/herdscan/report"
)

// version is what "herdscan --version" and every document say.
const version = "0.1.0"

// Exit codes: what scripts and CI may rely on.
const (
	exitClean       = 0   // nothing at or above --fail-on
	exitFindings    = 1   // a finding at or above --fail-on
	exitError       = 2   // usage error, or input that is unread
	exitInterrupted = 130 // Ctrl-C; what was read so far has been printed
)

// Env is all that a run takes from outside, so that tests can give their own.
type Env struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
}

// patience is how long an interrupted run may take to print what was read. A
// named pipe that nobody writes to can't be left in another way.
const patience = 30 * time.Second

// Main runs herdscan for the process it is in and returns its exit code. The
// first Ctrl-C ends the work and prints what was read; the second kills.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() {
		stop()
		time.AfterFunc(patience, func() {
			fmt.Fprintf(os.Stderr, "herdscan: interrupted; an input has not answered for %v\n", patience)
			os.Exit(exitInterrupted)
		})
	})
	return Run(ctx, Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Now: time.Now,
	})
}

// Run executes one command line.
func Run(ctx context.Context, env Env) int {
	root := newRoot(env)
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	var done *exitCode
	switch {
	case err == nil:
		return exitClean
	case errors.As(err, &done):
		return done.code
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(env.Stderr, "herdscan: interrupted")
		return exitInterrupted
	default:
		fmt.Fprintln(env.Stderr, "herdscan: "+report.Clean(err.Error()))
		return exitError
	}
}

// exitCode ends a run that has said all it had to say.
type exitCode struct{ code int }

func (e *exitCode) Error() string { return "exit " + strconv.Itoa(e.code) }

// style says how to write to w: only a terminal has a width, colours and the
// local time.
func (e Env) style(w io.Writer, colour string) report.Style {
	var s report.Style
	f, ok := w.(*os.File)
	tty := ok && term.IsTerminal(int(f.Fd()))
	if tty {
		s.Clock.Zone = time.Local
		s.Width = 80
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.Width = width
		}
	}
	switch colour {
	case "always":
		s.Color = true
	case "never":
	default:
		s.Color = tty && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
	}
	return s
}

// terminal reports whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// readSecret reads a one-line secret from a file named on the command line.
func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}
