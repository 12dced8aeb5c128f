// Package redistest runs real redis-servers for tests: on free loopback ports, in temporary folders, without
// persistence, stopped at the end of the test.
package redistest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// startTimeout is how long a server may take to answer. It is only waited for when something is wrong.
const startTimeout = 20 * time.Second

// A Server is one running redis-server.
type Server struct {
	// Addr is host:port, Port the number in it.
	Addr string
	Port int
	// Dir is the server's temporary folder.
	Dir string

	cmd  *exec.Cmd
	done chan struct{}
	kill sync.Once
}

// Binary returns the path of a program, or skips the test when it is missing: fails it when CI=true.
func Binary(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// Start runs a redis-server with further arguments, such as "--requirepass", "x". A --port among them replaces the
// free one. It returns when the server answers, if only with an error.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := Launch(t, FreePort(t), args...)
	s.await(t, "127.0.0.1:"+strconv.Itoa(s.Port))
	return s
}

// Launch runs a redis-server on the given port and does not wait for it: for servers that speak TLS only (port 0) or
// are meant to be slow.
func Launch(t testing.TB, port int, args ...string) *Server {
	t.Helper()
	return launch(t, port, nil, append([]string{
		"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", "--enable-debug-command", "local",
	}, args...))
}

func launch(t testing.TB, port int, first, last []string) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "redistest") // short: it is part of socket paths
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Port: port, Dir: dir, done: make(chan struct{})}
	base := []string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--daemonize", "no", "--logfile", filepath.Join(dir, "log"),
	}
	s.cmd = exec.Command(Binary(t, "redis-server"), slices.Concat(first, base, last)...)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		s.Kill()
		_ = os.RemoveAll(dir)
	})
	return s
}

// FreePort returns a loopback port that nothing listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *Server) await(t testing.TB, addr string) {
	t.Helper()
	err := Eventually(func() error {
		select {
		case <-s.done:
			return nil
		default:
		}
		_, err := command(addr, "PING")
		return err
	})
	select {
	case <-s.done:
		err = errors.New("it ended at once")
	default:
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
		t.Fatalf("redis-server %v does not answer: %v\n%s", s.cmd.Args[1:], err, log)
	}
}

// Eventually repeats check until it returns nil, for some seconds at most, and returns its last error.
func Eventually(check func() error) error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// AwaitLoaded waits until the server has read the dump that it was started with. Large ones take a while.
func (s *Server) AwaitLoaded(t testing.TB) {
	t.Helper()
	const longest = 2 * time.Minute
	for started := time.Now(); time.Since(started) < longest; time.Sleep(20 * time.Millisecond) {
		if reply, err := command(s.Addr, "PING"); err == nil && reply == "+PONG" {
			return
		}
	}
	t.Fatalf("%s is still loading after %v", s.Addr, longest)
}

// Kill ends the server at once, as a crash would, and waits until it is gone.
func (s *Server) Kill() {
	s.kill.Do(func() { _ = s.cmd.Process.Kill() })
	<-s.done
}

// Do sends one command, with arguments of any bytes, and returns the raw reply (of one line, or one bulk string). An
// error reply fails the test.
func (s *Server) Do(t testing.TB, args ...string) string {
	t.Helper()
	reply, err := command(s.Addr, args...)
	if err == nil && strings.HasPrefix(reply, "-") {
		err = errors.New(reply)
	}
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return reply
}

// Pipe sends many commands in one go: fill calls its argument once for each. Any error reply fails the test.
func (s *Server) Pipe(t testing.TB, fill func(do func(args ...string))) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	w := bufio.NewWriterSize(conn, 1<<16)
	result := make(chan error, 1)
	go func() { result <- readUntilEcho(conn) }()
	fill(func(args ...string) { _, _ = w.Write(encode(args)) })
	_, _ = w.Write(encode([]string{"ECHO", endMark}))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

const endMark = "redistest-end"

func readUntilEcho(conn net.Conn) error {
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(line, "-"):
			return errors.New(line)
		case strings.HasPrefix(line, endMark):
			return nil
		}
	}
}

// CLI runs redis-cli against the server and returns what it prints.
func (s *Server) CLI(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), Binary(t, "redis-cli"), append([]string{"-p", strconv.Itoa(s.Port)}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func command(addr string, args ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(startTimeout))
	if _, err := conn.Write(encode(args)); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "$") {
		return strings.TrimRight(line, "\r\n"), err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || n < 0 {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

func encode(args []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.Bytes()
}
