package watch

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan/redistest"
)

// A deploy with a cold cache and one fixed TTL: the keys die together, are
// written together, and die together again. Each time it is told before, while
// and after it happens.
func TestDeployWithFixedTTL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	newShop(t, server).catalogue(4, 300, fixed(8*time.Second))
	_, l := watching(t, server, Options{Lead: time.Minute})
	begins := l.await(t, 2, "HS401", "product:*", Begins)
	due := l.await(t, 2, "HS401", "product:*", Due)
	l.await(t, 2, "HS401", "product:*", Ended)
	if due[0].At.After(begins[0].At) || due[0].Count < 250 || due[0].Count > 300 {
		t.Errorf("not told before it came, or miscounted:\n%s", l)
	}
	if gap := begins[1].Tooth.Sub(begins[0].Tooth); gap < 7*time.Second || gap > 12*time.Second {
		t.Errorf("teeth %v apart, want about the TTL of 8 s:\n%s", gap, l)
	}
	for _, e := range l.alarms() {
		if e.Rule != "HS401" || e.Subject != "product:*" {
			t.Errorf("%s %s: nothing else happened", e.Rule, e.Subject)
		}
	}
}

// One hot key that takes a second to compute, and no lock: keymiss events and
// the writes that follow tell it while it happens, and its next death before.
func TestHotKeyByEvents(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	newShop(t, server).hotKey(60, "price:42", 6*time.Second, time.Second, false)
	_, l := watching(t, server, Options{Lead: time.Minute, EnableKeyMiss: true})
	begins := l.await(t, 2, "HS410", "price:42", Begins)
	l.await(t, 1, "HS410", "price:42", Ended)
	due := l.await(t, 1, "HS410", "price:42", Due)
	if late := begins[1].At.Sub(begins[1].Tooth); late > 5*time.Second {
		t.Errorf("told %v after it began:\n%s", late, l)
	}
	if begins[1].Count < herdCopies || !strings.Contains(begins[1].Text, "writes more than usual") {
		t.Errorf("%+v", begins[1])
	}
	if in := due[0].Tooth.Sub(due[0].At); in <= 0 || in > 7*time.Second {
		t.Errorf("due in %v:\n%s", in, l)
	}
}

// MONITOR shows the same without events: who missed the key, and that each of
// them wrote it.
func TestHotKeyByMonitor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	newShop(t, server).hotKey(60, "price:42", 2*time.Second, time.Second, false)
	_, l := watching(t, server, Options{Lead: time.Minute, Monitor: true, SampleFor: 5 * time.Second})
	e := l.await(t, 1, "HS410", "price:42", Begins)[0]
	if !strings.Contains(e.Text, "written") || !strings.Contains(e.Text, "connections") {
		t.Errorf("%q", e.Text)
	}
	l.await(t, 1, "HS410", "price:42", Ended)
	if !strings.Contains(l.String(), "about 40 % more") {
		t.Error("the cost of MONITOR is not told")
	}
}

// The same key behind a lock is missed as often and rebuilt once: nothing to
// alert about.
func TestLockedHotKeyRaisesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	newShop(t, server).hotKey(60, "price:42", 3*time.Second, time.Second, true)
	w, l := watching(t, server, Options{Lead: time.Minute, EnableKeyMiss: true, Monitor: true, SampleFor: 2 * time.Second})
	const deaths = 60 // looks at the counters, five a second: three deaths of the key
	awaitState(t, w, func(s State) bool { return s.Missed > 400 && len(s.History) > deaths })
	if alarms := l.alarms(); len(alarms) > 0 {
		t.Errorf("a protected key raises an alarm:\n%s", l)
	}
}

// FLUSHALL in mid-run is named, and so is the herd that follows from it.
func TestFlushInMidRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	shop := newShop(t, server)
	shop.catalogue(4, 300, jittered(20*time.Second))
	w, l := watching(t, server, Options{Lead: time.Minute})
	awaitState(t, w, func(s State) bool { return len(s.History) > 20 && s.Rates.Keys > 200 })
	before := l.alarms()
	if len(before) > 0 {
		t.Fatalf("before the flush:\n%s", l)
	}
	server.Do(t, "FLUSHALL")
	e := l.await(t, 1, "HS411", server.Addr, Begins)[0]
	if !strings.Contains(e.Text, "FLUSHALL") || e.Count < 200 {
		t.Errorf("%+v", e)
	}
	l.await(t, 1, "HS411", server.Addr, Ended)
}

// After a flush keys with one fixed TTL, spread before, die together.
func TestFlushMakesAHerd(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	shop := newShop(t, server)
	const ttl = 10 * time.Second
	server.Pipe(t, func(do func(...string)) { // in steady state: spread over the TTL
		for i := range 300 {
			do("SET", "product:"+itoa(i), "v", "PX", itoa(int(ttl.Milliseconds())*(i+1)/300))
		}
	})
	shop.catalogue(4, 300, fixed(ttl))
	w, l := watching(t, server, Options{Lead: time.Minute})
	awaitState(t, w, func(s State) bool { return len(s.History) > 20 })
	if before := l.alarms(); len(before) > 0 {
		t.Fatalf("before the flush:\n%s", l)
	}
	server.Do(t, "FLUSHALL")
	l.await(t, 1, "HS411", server.Addr, Begins)
	l.await(t, 1, "HS401", "product:*", Due)
	l.await(t, 1, "HS401", "product:*", Begins)
}

// Ordinary traffic raises nothing: jittered TTLs, a lock around what is hot,
// counters that end on the full second, sessions that are renewed. Short TTLs
// stand for ten minutes: each key dies some ten times.
func TestHealthyRunRaisesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	shop := newShop(t, server)
	server.Pipe(t, func(do func(...string)) { // sessions that were renewed at different times
		for i := range 1000 {
			do("SET", "session:"+itoa(i/500*1000+i%500), "v", "PX", itoa(5000+15*i))
		}
	})
	shop.catalogue(4, 400, jittered(3*time.Second))
	shop.hotKey(30, "price:42", 4*time.Second, 200*time.Millisecond, true)
	shop.workers(2, func(_ int, c *conn) error { // counters of a fixed window
		window := time.Now().Truncate(5 * time.Second).Add(5 * time.Second)
		key := "rl:" + itoa(int(time.Now().UnixNano()%50)) + ":" + itoa(int(window.Unix()))
		_, err := c.do([]string{"INCR", key}, []string{"EXPIREAT", key, itoa(int(window.Unix()))})
		shop.pause(10 * time.Millisecond)
		return err
	})
	shop.workers(2, func(i int, c *conn) error { // sessions, renewed at each access
		_, err := c.do([]string{"SET", "session:" + itoa(i*1000+rand.IntN(500)), "v", "PX", "20000"})
		shop.pause(5 * time.Millisecond)
		return err
	})
	shop.pause(8 * time.Second) // until every session was renewed: what was just started is all written at once
	const long = 150            // looks at the counters, five a second
	w, l := watching(t, server, Options{Lead: time.Minute, EnableKeyMiss: true, Monitor: true, SampleFor: time.Second})
	awaitState(t, w, func(s State) bool { return len(s.History) > long })
	if alarms := l.alarms(); len(alarms) > 0 {
		t.Errorf("a healthy run raises alarms:\n%s", l)
	}
}
