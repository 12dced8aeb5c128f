package watch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
)

// limited waits until something can't be seen, and returns why.
func limited(t *testing.T, w *Watcher, what string) string {
	t.Helper()
	var why string
	awaitState(t, w, func(s State) bool {
		for _, l := range s.Limits {
			if rest, ok := strings.CutPrefix(l, what+": "); ok {
				why = rest
				return true
			}
		}
		return false
	})
	return why
}

func unlimited(t *testing.T, w *Watcher, what string) {
	t.Helper()
	awaitState(t, w, func(s State) bool {
		for _, l := range s.Limits {
			if strings.HasPrefix(l, what+": ") {
				return false
			}
		}
		return true
	})
}

// A server that is started anew is found again, and that it lost its data is
// told.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	fillHerd(t, server, "product:", 300, time.Hour)
	w, l := watching(t, server, Options{})
	awaitState(t, w, func(s State) bool { return s.Rates.Keys == 300 })
	server.Kill()
	if why := limited(t, w, "redis"); !strings.Contains(why, "refused") && !strings.Contains(why, "closed") {
		t.Errorf("%q does not say what is wrong", why)
	}
	again := redistest.Launch(t, server.Port)
	unlimited(t, w, "redis")
	if e := l.await(t, 1, "HS411", again.Addr, Begins)[0]; !strings.Contains(e.Text, "started anew without its data") {
		t.Errorf("%q", e.Text)
	}
	fillHerd(t, again, "product:", 300, time.Hour)
	awaitState(t, w, func(s State) bool { return s.Rates.Keys == 300 })
}

// A failover behind Sentinel is followed to the new primary.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := redistest.Start(t, "--replicaof", fmt.Sprintf("127.0.0.1 %d", primary.Port))
	sentinel := redistest.StartSentinel(t, "cache", primary, "")
	w, _ := watching(t, primary, Options{Redis: scan.Options{URL: "redis-sentinel://" + sentinel.Addr + "/cache"}})
	awaitState(t, w, func(s State) bool { return len(s.Vitals) == 1 && s.Vitals[0].Server == primary.Addr })
	primary.Kill()
	awaitState(t, w, func(s State) bool {
		return len(s.Vitals) == 1 && s.Vitals[0].Server == replica.Addr && s.Vitals[0].Role == "master" && s.Rates.Known
	})
	unlimited(t, w, "redis")
}

// What a user may not send is named, and the rest goes on.
func TestMissingPermissions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		forbid string // as in ACL SETUSER
		what   string // the limit
		says   string
		sees   func(State) bool // what is still seen
	}{
		{"-info", "INFO", "misses, hits, evictions", func(s State) bool { return s.Analysis != nil && s.Analysis.Keys == 300 }},
		{"-config", "", "", func(s State) bool { return s.Rates.Known && s.Missed > 0 }},
		{"-psubscribe", "keymiss", "PSUBSCRIBE", func(s State) bool { return s.Rates.Known && s.Analysis != nil }},
		{"-monitor", "MONITOR", "MONITOR", func(s State) bool { return s.Rates.Known && s.Analysis != nil }},
		{"-scan", "keys", "SCAN", func(s State) bool { return s.Rates.Known }},
	} {
		t.Run(c.forbid, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, "--notify-keyspace-events", "Em")
			fillHerd(t, server, "product:", 300, time.Hour)
			server.Do(t, "ACL", "SETUSER", "watcher", "on", ">secret", "~*", "&*", "+@all", c.forbid)
			newShop(t, server).hotKey(2, "missing", time.Millisecond, 10*time.Millisecond, false)
			w, _ := watching(t, server, Options{Redis: redisOptions(server, "watcher", "secret"), Monitor: true, SampleFor: 300 * time.Millisecond})
			if c.what != "" {
				if why := limited(t, w, c.what); !strings.Contains(why, c.says) {
					t.Errorf("%s: %q", c.what, why)
				}
			}
			awaitState(t, w, c.sees)
		})
	}
}

// keymiss events are switched on in addition to what was set, and the old
// value is put back, also when the run is cut short.
func TestFlagsArePutBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--notify-keyspace-events", "Kx")
	flags := func() string { return server.CLI(t, "CONFIG", "GET", "notify-keyspace-events") }
	before := flags()
	l := &log{}
	w := New(Options{Redis: redisOptions(server, "", ""), EnableKeyMiss: true, Tell: l.tell})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	err := redistest.Eventually(func() error {
		if f := flags(); !strings.Contains(f, "m") || !strings.Contains(f, "E") || !strings.Contains(f, "x") || !strings.Contains(f, "K") {
			return fmt.Errorf("flags are %q", f)
		}
		return nil
	})
	stop()
	<-done
	if err != nil {
		t.Error(err)
	}
	if after := flags(); after != before {
		t.Errorf("flags are %q, were %q", after, before)
	}
	if !strings.Contains(l.String(), "put back") {
		t.Error(l)
	}
}

// Flags that somebody else has changed meanwhile are left, and where the
// server is gone the command that puts them back is told.
func TestFlagsThatCantBePutBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		meanwhile  func(*redistest.Server)
	}{
		{"changed", "somebody has changed it", func(s *redistest.Server) { s.Do(t, "CONFIG", "SET", "notify-keyspace-events", "KEA") }},
		{"gone", "could NOT be put back", func(s *redistest.Server) { s.Kill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			l := &log{}
			w := New(Options{Redis: redisOptions(server, "", ""), EnableKeyMiss: true, Tell: l.tell})
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				w.Run(ctx)
			}()
			err := redistest.Eventually(func() error {
				if !strings.Contains(l.String(), "notify-keyspace-events set") {
					return fmt.Errorf("not switched on:\n%s", l)
				}
				return nil
			})
			c.meanwhile(server)
			stop()
			<-done
			if err != nil || !strings.Contains(l.String(), c.says) {
				t.Errorf("%v; told:\n%s", err, l)
			}
		})
	}
}

// What herdscan itself asks for is not among the hits and misses.
func TestOwnProbesAreLeftOut(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	fillHerd(t, server, "product:", 2000, time.Hour)
	w, _ := watching(t, server, Options{})
	s := awaitState(t, w, func(s State) bool { return s.Totals.Own > 10_000 && len(s.History) > 25 })
	// A page may be in the server's counters before it is in ours.
	if s.Totals.Hits > s.Totals.Own/20 || s.Totals.Misses > 5 {
		t.Errorf("nobody else reads, and %d hits and %d misses are counted; own: %d", s.Totals.Hits, s.Totals.Misses, s.Totals.Own)
	}
}

// A cluster is watched on all its primaries, and a lost one does not end it.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	for i := range 30 {
		c.Primaries[0].CLI(t, "-c", "SET", fmt.Sprint("product:", i), "v", "EX", "3600")
	}
	w, _ := watching(t, c.Primaries[0], Options{})
	awaitState(t, w, func(s State) bool {
		return len(s.Vitals) == 3 && s.Rates.Keys == 30 && s.Rates.Known && s.Analysis != nil && s.Analysis.Keys == 30
	})
	c.Primaries[2].Kill()
	limited(t, w, "redis")
	awaitState(t, w, func(s State) bool { return len(s.Vitals) == 2 && s.Rates.Known })
}

// Under an LFU policy the most read of the sampled keys are named, and asking
// for their counters is not taken for traffic.
func TestHottestKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lfu", "--maxmemory", "100mb", "--lfu-log-factor", "1")
	fillHerd(t, server, "product:", 50, time.Hour)
	server.Pipe(t, func(do func(...string)) {
		for range 3000 {
			do("GET", "product:7")
		}
	})
	w, _ := watching(t, server, Options{})
	s := awaitState(t, w, func(s State) bool { return len(s.Hottest) > 0 && len(s.History) > 20 })
	if h := s.Hottest[0]; string(h.Name) != "product:7" || h.Freq < 20 {
		t.Errorf("the hottest is %q with %d", h.Name, h.Freq)
	}
	if s.Totals.Hits > s.Totals.Own/20 {
		t.Errorf("nobody else reads, and %d hits are counted; own: %d", s.Totals.Hits, s.Totals.Own)
	}
}
