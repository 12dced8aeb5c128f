package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
)

// A clock is set by hand.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 3, 14, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// A hook counts the alerts that reach a webhook.
type hook struct {
	*httptest.Server
	mu  sync.Mutex
	got []message
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, m)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) count(subject string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.got {
		if m.Subject == subject {
			n++
		}
	}
	return n
}

// replica is a Notifier with a memory of its own, as one process has it.
func replica(t *testing.T, h *hook, store Store, now func() time.Time) *Notifier {
	t.Helper()
	n, err := NewNotifier(NotifierOptions{
		URL: h.URL, Target: "redis://cache-1", Window: time.Hour, Least: rule.Warning,
		Claims: NewClaims(store, "test", now),
	})
	if err != nil {
		t.Fatal(err)
	}
	n.pause = time.Millisecond
	return n
}

func sharedStore(t *testing.T, s *redistest.Server) *scan.Claims {
	t.Helper()
	c, err := scan.NewClaims(scan.Options{URL: "redis://" + s.Addr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func alert(subject string, severity rule.Severity) Event {
	return Event{Stage: Begins, Rule: "HS401", Severity: severity, Subject: subject, Text: "expires", Count: 3402, Unit: "keys"}
}

func send(t *testing.T, n *Notifier, e Event) {
	t.Helper()
	if _, err := n.Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// Two watchers, and a third that is started when one was deployed anew, send
// an alert once; another subject and another event are other alerts; one that
// is critical goes from each.
func TestAlertsGoOnce(t *testing.T) {
	server := redistest.Start(t)
	h, c := newHook(t), newClock()
	first := replica(t, h, sharedStore(t, server), c.now)
	second := replica(t, h, sharedStore(t, server), c.now)
	send(t, first, alert("session:*", rule.Warning))
	send(t, second, alert("session:*", rule.Warning))
	send(t, first, alert("session:*", rule.Warning))
	third := replica(t, h, sharedStore(t, server), c.now) // after a redeploy: nothing in its memory
	send(t, third, alert("session:*", rule.Warning))
	if n := h.count("session:*"); n != 1 {
		t.Errorf("three watchers sent %d alerts, want 1", n)
	}
	send(t, second, alert("page:*", rule.Warning))
	if n := h.count("page:*"); n != 1 {
		t.Errorf("the alert about another subject went %d times, want 1", n)
	}
	ended := alert("session:*", rule.Warning)
	ended.Stage = Ended
	send(t, third, ended)
	if n := h.count("session:*"); n != 2 {
		t.Errorf("begin and end are %d alerts, want 2", n)
	}
	for _, n := range []*Notifier{first, second, third} {
		send(t, n, alert("price:*", rule.Error))
	}
	if n := h.count("price:*"); n != 3 {
		t.Errorf("a critical alert went %d times, want once from each of 3", n)
	}
}

// The key in Redis lives as long as the window, and no longer.
func TestClaimHasItsWindow(t *testing.T) {
	server := redistest.Start(t)
	store := sharedStore(t, server)
	key := Key("alert", "a", "b")
	if mine, err := store.Claim(t.Context(), key, "me", 24*time.Hour); err != nil || !mine {
		t.Fatal(mine, err)
	}
	var left int
	if _, err := fmt.Sscanf(server.Do(t, "PTTL", key), ":%d", &left); err != nil || left < 23*3600*1000 || left > 24*3600*1000 {
		t.Errorf("%d ms left (%v), want a day", left, err)
	}
	if mine, err := store.Claim(t.Context(), key, "you", time.Hour); err != nil || mine {
		t.Errorf("claimed twice: %v, %v", mine, err)
	}
}

// A Redis that is stopped holds no alert back.
func TestAlertGoesWithoutRedis(t *testing.T) {
	server := redistest.Start(t)
	h, c := newHook(t), newClock()
	n := replica(t, h, sharedStore(t, server), c.now)
	server.Kill()
	send(t, n, alert("session:*", rule.Warning))
	if h.count("session:*") != 1 {
		t.Error("the alert did not go")
	}
	if n.claims.Failed() == nil {
		t.Error("that the Redis could not be asked is not known")
	}
	send(t, n, alert("session:*", rule.Warning))
	if got := h.count("session:*"); got != 1 {
		t.Errorf("it went %d times from one watcher: its own memory must hold", got)
	}
}

// slowStore answers when it is let go, and does not look at the deadline.
type slowStore struct{ release chan struct{} }

func (s *slowStore) Claim(context.Context, string, string, time.Duration) (bool, error) {
	<-s.release
	return false, nil
}

func (s *slowStore) Release(context.Context, string) error { return nil }

// A store that is slower than the timeout holds no alert back, even if it
// ignores its deadline and somebody else has the claim.
func TestAlertGoesWhenStoreIsSlow(t *testing.T) {
	slow := &slowStore{make(chan struct{})}
	defer close(slow.release)
	h, c := newHook(t), newClock()
	n := replica(t, h, slow, c.now)
	n.claims.timeout = 20 * time.Millisecond
	send(t, n, alert("session:*", rule.Warning))
	if h.count("session:*") != 1 {
		t.Error("the alert did not go")
	}
}

// A server that takes connections and never answers is given up after 1.5 s.
func TestAlertGoesWhenRedisIsSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	store, err := scan.NewClaims(scan.Options{URL: "redis://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h, c := newHook(t), newClock()
	n := replica(t, h, store, c.now)
	if n.claims.timeout != 1500*time.Millisecond {
		t.Errorf("the timeout is %v", n.claims.timeout)
	}
	send(t, n, alert("session:*", rule.Warning))
	if h.count("session:*") != 1 {
		t.Error("the alert did not go")
	}
}

// A key with a window of a day is still held after 600 other alerts and twenty
// minutes, whatever is cleaned away meanwhile; those whose window is over are
// gone.
func TestLongWindowSurvivesManyOthers(t *testing.T) {
	c := newClock()
	claims := NewClaims(nil, "test", c.now)
	day := Key("alert", "once a day")
	if !claims.Claim(t.Context(), day, 24*time.Hour) {
		t.Fatal("not claimed")
	}
	for i := range 600 {
		if !claims.Claim(t.Context(), Key("alert", fmt.Sprint(i)), 15*time.Minute) {
			t.Fatal(i)
		}
		c.pass(2 * time.Second)
	}
	if claims.Claim(t.Context(), day, 24*time.Hour) {
		t.Error("the alert of a day's window goes again after 20 minutes")
	}
	c.pass(20 * time.Minute)
	claims.Claim(t.Context(), "any", time.Minute)
	if n := len(claims.until); n != 2 {
		t.Errorf("%d entries are kept, want the day's and the last", n)
	}
	c.pass(24 * time.Hour)
	if !claims.Claim(t.Context(), day, 24*time.Hour) {
		t.Error("the window is over, and the alert is still held")
	}
}

// An alert that could not be sent is not held back the next time, whoever
// sends it.
func TestFailedAlertIsGivenUp(t *testing.T) {
	server := redistest.Start(t)
	broken := &hook{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))}
	defer broken.Close()
	h, c := newHook(t), newClock()
	if _, err := replica(t, broken, sharedStore(t, server), c.now).Send(t.Context(), alert("session:*", rule.Warning)); err == nil {
		t.Fatal("a webhook that is not there took the alert")
	}
	send(t, replica(t, h, sharedStore(t, server), c.now), alert("session:*", rule.Warning))
	if h.count("session:*") != 1 {
		t.Error("nobody sent the alert")
	}
}

// A claim that another watcher has is not kept in the own memory: its window
// may end sooner than ours would.
func TestOthersClaimIsNotRemembered(t *testing.T) {
	server := redistest.Start(t)
	c := newClock()
	claims := NewClaims(sharedStore(t, server), "me", c.now)
	key := Key("alert", "x")
	server.Do(t, "SET", key, "other", "PX", "3600000")
	if claims.Claim(t.Context(), key, time.Hour) {
		t.Fatal("claimed what another has")
	}
	server.Do(t, "DEL", key)
	if !claims.Claim(t.Context(), key, time.Hour) {
		t.Error("the other's window is over, and the alert is still held")
	}
}

// Parts of a key can't be confused, and a key tells nothing of them.
func TestKeyOfClaim(t *testing.T) {
	if Key("alert", "ab", "c") == Key("alert", "a", "bc") {
		t.Error("two lists of parts have one key")
	}
	if k := Key("alert", "session:secret"); strings.Contains(k, "secret") || !strings.HasPrefix(k, "herdscan:alert:") {
		t.Error(k)
	}
}

// The message is one for Slack and for machines: it mentions nobody, and holds
// no raw control characters.
func TestMessage(t *testing.T) {
	h, c := newHook(t), newClock()
	n := replica(t, h, nil, c.now)
	n.clean = func(s string) string { return strings.ReplaceAll(s, "\x1b", `\x1b`) }
	e := alert("<!channel>\x1b[31m", rule.Warning)
	e.Tooth = c.now()
	send(t, n, e)
	m := h.got[0]
	if strings.ContainsAny(m.Text, "<>\x1b") || !strings.Contains(m.Text, "HS401") || m.Rule != "HS401" || m.Event != Begins || m.Severity != "warning" || m.Count != 3402 {
		t.Errorf("%+v", m)
	}
}

// A webhook that fails for a moment is tried again; one that refuses is not;
// no error holds its address.
func TestWebhookFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		status []int
		tries  int
		fails  bool
	}{
		{"once unavailable", []int{503, 200}, 2, false},
		{"refused", []int{404}, 1, true},
		{"never available", []int{500, 500, 500, 500, 500}, notifyTries, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tries := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status[tries])
				tries++
			}))
			defer s.Close()
			n := replica(t, &hook{Server: s}, nil, newClock().now)
			_, err := n.Send(t.Context(), alert("x", rule.Warning))
			if tries != c.tries || (err != nil) != c.fails {
				t.Errorf("%d tries, %v", tries, err)
			}
			if err != nil && strings.Contains(err.Error(), s.URL) {
				t.Errorf("the address is in the error: %v", err)
			}
			if c.fails && !n.claims.take(Key("alert", n.target, "HS401", "x", "begins"), time.Hour) {
				t.Error("an alert that was not sent is held back the next time")
			}
		})
	}
}

// Two watchers that are triggered together in one period read the keyspace
// once, and both know what was read; with the store gone each reads.
func TestKeysAreReadOnce(t *testing.T) {
	target, shared := redistest.Start(t), redistest.Start(t)
	fillHerd(t, target, "product:", 300, 60*time.Second)
	watchers := make([]*Watcher, 2)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range watchers {
		store := sharedStore(t, shared)
		watchers[i] = New(Options{
			Redis: scan.Options{URL: "redis://" + target.Addr}, Every: time.Hour, Pulse: 100 * time.Millisecond,
			Claims: NewClaims(store, "test", time.Now), Board: store,
		})
		wg.Go(func() { watchers[i].Run(ctx) })
	}
	defer wg.Wait()
	defer cancel()
	looks := func() (sum int) {
		for _, w := range watchers {
			<-w.FirstLook()
			n, _, _ := w.Looks()
			sum += n
		}
		return sum
	}
	if n := looks(); n != 1 {
		t.Fatalf("two watchers read the keys %d times in one period, want once", n)
	}
	for _, w := range watchers {
		w.look() // whoever has not read asks the board
	}
	for i, w := range watchers {
		if err := redistest.Eventually(func() error {
			if s := w.State(); len(s.Forecast) == 0 || s.Forecast[0].Keys < 250 {
				return fmt.Errorf("watcher %d foresees %v", i, s.Forecast)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	shared.Kill()
	for _, w := range watchers {
		w.opts.Claims.drop(Key("look", w.target)) // the next period
		w.look()
	}
	if err := redistest.Eventually(func() error {
		for _, w := range watchers {
			if n, _, _ := w.Looks(); n == 0 {
				return fmt.Errorf("a watcher has not read though the claim can't be asked")
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// fillHerd writes keys that die together.
func fillHerd(t testing.TB, s *redistest.Server, prefix string, n int, ttl time.Duration) {
	t.Helper()
	s.Pipe(t, func(do func(...string)) {
		for i := range n {
			do("SET", fmt.Sprintf("%s%d", prefix, i), "v", "PX", fmt.Sprint(ttl.Milliseconds()))
		}
	})
}
