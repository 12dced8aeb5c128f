package scan

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/scan/redistest"
)

func TestParseMonitorLine(t *testing.T) {
	for _, c := range []struct {
		line   string
		ok     bool
		client string
		db     int
		args   []string
	}{
		{`+1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`, true, "127.0.0.1:60866", 0, []string{"keys", "*"}},
		{`+1339518083.000001 [3 lua] "set" "a\"b\\c\n\x00\xff" ""`, true, "lua", 3, []string{"set", "a\"b\\c\n\x00\xff", ""}},
		{`+1339518083.107412 [0 [::1]:60866] "get" "x"`, true, "[::1]:60866", 0, []string{"get", "x"}},
		{`+OK`, false, "", 0, nil},
		{`$5`, false, "", 0, nil},
		{``, false, "", 0, nil},
		{`+1.2 [0 unix:/tmp/s] "get" "cut off`, true, "unix:/tmp/s", 0, []string{"get", "cut off"}},
	} {
		var m Command
		ok := m.parse([]byte(c.line))
		var args []string
		for _, a := range m.Args {
			args = append(args, string(a))
		}
		if ok != c.ok || ok && (m.Client != c.client || m.DB != c.db || !cmp.Equal(args, c.args)) {
			t.Errorf("%s: %v %q %d %q", c.line, ok, m.Client, m.DB, args)
		}
	}
}

func FuzzMonitorLine(f *testing.F) {
	f.Add([]byte(`+1339518083.107412 [0 127.0.0.1:60866] "set" "k\x00" "v" "ex" "10"`))
	f.Add([]byte(`+1339518083.107412 [0 lua] "a\`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var c Command
		if !c.parse(line) {
			return
		}
		if len(c.Args) > monitorArgs {
			t.Errorf("%d words", len(c.Args))
		}
		for _, a := range c.Args {
			if len(a) > monitorBytes {
				t.Errorf("a word of %d bytes", len(a))
			}
		}
	})
}

// openLive connects to a server of the test.
func openLive(t *testing.T, o Options) *Live {
	t.Helper()
	l, err := OpenLive(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// MONITOR of a real server is read, long values skipped, and ends with its context.
func TestMonitor(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "secret")
	l := openLive(t, Options{URL: "redis://" + server.Addr, Password: "secret"})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	var client sync.WaitGroup
	defer client.Wait()
	defer stop()
	client.Go(func() {
		for ctx.Err() == nil {
			server.CLI(t, "-a", "secret", "--no-auth-warning", "SET", "long", strings.Repeat("x", 100_000))
			server.CLI(t, "-a", "secret", "--no-auth-warning", "EVAL", `return redis.call("get", KEYS[1])`, "1", "in-a-script")
			server.CLI(t, "-a", "secret", "--no-auth-warning", "SET", "k", "v", "EX", "10")
			_ = sleep(ctx, 20*time.Millisecond)
		}
	})
	seen := make(map[string]bool)
	err := l.Monitor(ctx, func(c *Command) {
		if len(c.Args) > 1 {
			seen[string(c.Args[1])] = true
			if string(c.Args[1]) == "long" && !c.More {
				t.Error("a cut line is not marked")
			}
			if string(c.Args[1]) == "in-a-script" && c.Client != "lua" {
				t.Errorf("a script's command is of %q", c.Client)
			}
		}
		if seen["long"] && seen["in-a-script"] && seen["k"] {
			stop()
		}
	})
	if err != nil || !seen["long"] || !seen["k"] {
		t.Errorf("%v, seen %v", err, seen)
	}
}

// The counters of a real server, and what FLUSHALL does to them.
func TestVitals(t *testing.T) {
	server := redistest.Start(t)
	l := openLive(t, Options{URL: "redis://" + server.Addr})
	read := func() Vitals {
		v, err := l.Vitals(t.Context())
		if err != nil || len(v) != 1 {
			t.Fatal(v, err)
		}
		return v[0]
	}
	before := read()
	server.Do(t, "SET", "a", "1")
	server.Do(t, "GET", "a")
	server.Do(t, "GET", "b")
	one := read()
	if one.Hits-before.Hits != 1 || one.Misses-before.Misses != 1 || one.Changes-before.Changes != 1 || one.Keys() != 1 || one.Flushes != 0 || one.RunID == "" || one.Now.IsZero() {
		t.Errorf("%+v", one)
	}
	server.Do(t, "FLUSHALL")
	if after := read(); after.Flushes != 1 || after.Keys() != 0 || after.RunID != one.RunID {
		t.Errorf("%+v", after)
	}
}

// Events of misses come with database and key, whatever its bytes.
func TestKeyMisses(t *testing.T) {
	server := redistest.Start(t)
	l := openLive(t, Options{URL: "redis://" + server.Addr})
	settings, err := l.NotifyFlags(t.Context())
	if err != nil || len(settings) != 1 || SendsKeyMisses(settings[0].Value) {
		t.Fatal(settings, err)
	}
	if err := l.SetNotifyFlags(t.Context(), Setting{settings[0].Server, WithKeyMisses("Kx")}); err != nil {
		t.Fatal(err)
	}
	const key = "a\x00\r\n\xff"
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var got KeyMiss
	err = l.KeyMisses(ctx, func() { server.CLI(t, "-n", "3", "GET", "gone"); server.Do(t, "GET", key) }, func(m KeyMiss) {
		if m.DB == 3 && m.Key != "gone" {
			t.Errorf("%+v", m)
		}
		if m.DB == 0 {
			got = m
			stop()
		}
	})
	if got.Key != key {
		t.Errorf("%+v, %v", got, err)
	}
	if now, err := l.NotifyFlags(t.Context()); err != nil || !SendsKeyMisses(now[0].Value) || !strings.Contains(now[0].Value, "x") {
		t.Error(now, err)
	}
}
