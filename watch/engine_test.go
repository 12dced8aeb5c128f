package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// A lab is an Engine under a clock that is set by hand.
type lab struct {
	*Engine
	c   *clock
	log log
	v   scan.Vitals
}

func newLab(o EngineOptions) *lab {
	l := &lab{Engine: NewEngine(o), c: newClock()}
	l.v = scan.Vitals{Server: "cache-1", RunID: "a"}
	l.v.DBs = map[int]scan.DBInfo{0: {Keys: 10_000}}
	return l
}

// second lets a second pass in which the counters grow.
func (l *lab) second(hits, misses, changes uint64) {
	l.c.pass(time.Second)
	l.v.Hits, l.v.Misses, l.v.Changes, l.v.At = l.v.Hits+hits, l.v.Misses+misses, l.v.Changes+changes, l.c.now()
	events, _ := l.ObserveVitals(l.c.now(), []scan.Vitals{l.v}, Own{})
	l.log.tell(events)
	l.log.tell(l.Tick(l.c.now()))
}

// look reads a keyspace of n keys of a pattern that expire within a second at
// a time, and others that are spread.
func (l *lab) look(n int, at time.Time) {
	sum := &ttlhist.Summary{}
	now := l.c.now()
	sum.Begin(ttlhist.Source{Name: "cache-1", Kind: "redis", Now: now, Resolution: time.Millisecond})
	look := Look{At: now, Next: 10 * time.Second, Keys: make(map[int64][]scan.KeyRef)}
	for i := range n {
		k := scan.Key{Name: []byte(fmt.Sprintf("session:%d", i)), ExpireMS: at.UnixMilli() + int64(i%800)}
		sum.Add(&k)
		if sec := k.ExpireMS / 1000; len(look.Keys[sec]) < keysASecond {
			look.Keys[sec] = append(look.Keys[sec], k.Ref())
		}
	}
	for i := range 2000 {
		sum.Add(&scan.Key{Name: []byte(fmt.Sprintf("page:%d", i)), ExpireMS: now.UnixMilli() + int64(i)*1801})
	}
	sum.End(ttlhist.Source{Name: "cache-1", Kind: "redis", Now: now, Read: uint64(n + 2000), Total: uint64(n + 2000)})
	look.Analysis = ttlhist.Analyse(sum, ttlhist.Options{})
	l.log.tell(l.ObserveLook(now, look))
}

func (l *lab) stages(subject string) string {
	var out []string
	for _, e := range l.log.all() {
		if e.Subject == subject {
			out = append(out, string(e.Stage))
		}
	}
	return strings.Join(out, " ")
}

// A tooth is told as due once, at most the lead before it; it begins at its
// deadline and ends when the misses are back.
func TestToothIsToldInOrder(t *testing.T) {
	l := newLab(EngineOptions{Lead: time.Minute})
	at := l.c.now().Add(100 * time.Second)
	for i := range 120 {
		if i%10 == 0 && l.c.now().Before(at) {
			l.look(500, at)
		}
		misses := uint64(3)
		if now := l.c.now(); !now.Before(at) && now.Before(at.Add(4*time.Second)) {
			misses = 120
		}
		l.second(100, misses, 5)
	}
	if got := l.stages("session:*"); got != "due begins ended" {
		t.Fatalf("%s:\n%s", got, &l.log)
	}
	due := l.log.find("HS401", "session:*", Due)[0]
	if in := due.Tooth.Sub(due.At); in > time.Minute || in < 58*time.Second {
		t.Errorf("due %v before", in)
	}
	if begins := l.log.find("HS401", "session:*", Begins)[0]; begins.At.Sub(at).Abs() > time.Second || begins.Count != 500 {
		t.Errorf("%+v", begins)
	}
	ended := l.log.find("HS401", "session:*", Ended)[0]
	if !strings.Contains(ended.Text, "misses 3 a second before, 120 at most") || ended.At.Sub(at) > 10*time.Second {
		t.Errorf("%+v", ended)
	}
	s := l.State(l.c.now())
	if len(s.Herds) != 1 || s.Herds[0].Fell != 1 || len(s.Herds[0].Teeth) != 1 || s.Expired < 500 {
		t.Errorf("%+v, %d deadlines", s.Herds, s.Expired)
	}
}

// Keys that were written anew before the tooth: it is taken back, and does
// not begin. Nothing is told of a herd that only one look has seen.
func TestToothThatWasRenewed(t *testing.T) {
	l := newLab(EngineOptions{Lead: time.Minute})
	at := l.c.now().Add(50 * time.Second)
	l.look(500, at)
	l.second(1, 1, 1)
	if got := l.stages("session:*"); got != "" {
		t.Fatalf("told after one look, with time for another: %s", got)
	}
	for range 11 {
		l.second(1, 1, 1)
	}
	l.look(500, at)
	l.second(1, 1, 1)
	if got := l.stages("session:*"); got != "due" {
		t.Fatal(got)
	}
	l.look(500, at.Add(time.Hour))
	for range 60 {
		l.second(1, 1, 1)
	}
	if got := l.stages("session:*"); got != "due ended" {
		t.Errorf("%s:\n%s", got, &l.log)
	}
}

// The keys that are asked again a moment before the tooth say otherwise than
// the last look.
func TestToothIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(Check) []int64
		want   string
	}{
		{"as planned", func(c Check) []int64 { return scaleMS(c.Expires, 0) }, "due begins ended"},
		{"dead already", func(c Check) []int64 {
			gone := make([]int64, len(c.Keys))
			for i := range gone {
				gone[i] = scan.Gone
			}
			return gone
		}, "due begins ended"},
		{"written anew", func(c Check) []int64 { return scaleMS(c.Expires, 3600) }, "due ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(EngineOptions{})
			at := l.c.now().Add(30 * time.Second)
			l.look(500, at)
			asked := 0
			for i := range 60 {
				if i == 8 {
					l.look(500, at)
				}
				l.second(1, 1, 1)
				if check, ok := l.Check(l.c.now()); ok {
					asked++
					if len(check.Keys) == 0 || len(check.Keys) > 64+keysASecond {
						t.Errorf("%d keys", len(check.Keys))
					}
					l.Answer(check, c.answer(check))
				}
			}
			if got := l.stages("session:*"); got != c.want || asked != 1 {
				t.Errorf("%s, asked %d times:\n%s", got, asked, &l.log)
			}
		})
	}
}

func scaleMS(seconds []int64, later int64) []int64 {
	out := make([]int64, len(seconds))
	for i, s := range seconds {
		out[i] = (s + later) * 1000
	}
	return out
}

// Beyond the budget a herd is an error.
func TestBudgetMakesAnError(t *testing.T) {
	l := newLab(EngineOptions{Lead: time.Minute, Budget: 100})
	at := l.c.now().Add(12 * time.Second)
	l.look(500, at)
	l.second(1, 1, 1)
	if due := l.log.find("HS401", "session:*", Due); len(due) != 1 || due[0].Severity != rule.Error {
		t.Errorf("%+v", due)
	}
}

// Misses of one key are a stampede when as many writes follow, and none when
// the key is written once or others write.
func TestStampedeNeedsWrites(t *testing.T) {
	for _, c := range []struct {
		name           string
		writes, others uint64 // in the second after the misses
		noise          uint64 // every fifth second
		want           string
	}{
		{"each rebuilds", 300, 0, 0, "begins ended"},
		{"one rebuilds", 2, 0, 0, ""},
		{"others are missed too", 300, 290, 0, ""},
		{"others write as much now and then", 150, 0, 400, "begins ended"}, // a note
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(EngineOptions{})
			for i := range 50 {
				l.second(1000, 5, 10+c.noise*uint64(i%5/4))
			}
			for range 300 {
				l.ObserveMiss(l.c.now(), scan.KeyMiss{Key: "price:42"})
			}
			for i := range c.others {
				l.ObserveMiss(l.c.now(), scan.KeyMiss{Key: fmt.Sprint("other:", i)})
			}
			l.second(1000, 300, 10+c.writes)
			for range 10 {
				l.second(1000, 5, 10)
			}
			if got := l.stages("price:42"); got != c.want {
				t.Errorf("%q:\n%s", got, &l.log)
			}
			if alarms := l.log.alarms(); (len(alarms) > 0) != (c.name == "each rebuilds") {
				t.Errorf("%+v", alarms)
			}
		})
	}
}

// A key that is never there is asked for again and again: no stampede, but
// absence that is not cached.
func TestKeyThatIsNeverThere(t *testing.T) {
	l := newLab(EngineOptions{})
	for range 60 {
		for range 5 {
			l.ObserveMiss(l.c.now(), scan.KeyMiss{DB: 2, Key: "user:404"})
		}
		l.second(100, 5, 10)
	}
	if e := l.log.find("HS506", "user:404 (db 2)", Begins); len(e) != 1 || e[0].Severity != rule.Note {
		t.Errorf("%s", &l.log)
	}
}

// The memory for misses is bounded, and what does not fit is counted.
func TestMissesAreBounded(t *testing.T) {
	l := newLab(EngineOptions{})
	for i := range maxRuns + 500 {
		l.ObserveMiss(l.c.now(), scan.KeyMiss{Key: fmt.Sprint(i)})
	}
	if s := l.State(l.c.now()); s.Lost != 500 || s.Missed != maxRuns+500 {
		t.Errorf("%d of %d misses lost", s.Lost, s.Missed)
	}
	l.c.pass(10 * time.Second)
	l.Tick(l.c.now())
	if n := len(l.stampedes.runs); n != 0 {
		t.Errorf("%d runs are kept", n)
	}
}

// Counters that start anew are no negative rates, and own probes are taken off
// even where they are counted a look too late.
func TestPulse(t *testing.T) {
	var p pulse
	now := newClock().now()
	v := scan.Vitals{Server: "a", RunID: "1", At: now}
	v.Hits, v.Misses = 100, 10
	p.observe(now, []scan.Vitals{v}, Own{})
	v.At, v.Hits, v.Misses = now.Add(time.Second), 150, 15
	r, _ := p.observe(v.At, []scan.Vitals{v}, Own{Hits: 80, Misses: 1})
	if !r.Known || r.Hits != 0 || r.Misses != 4 {
		t.Errorf("%+v", r)
	}
	v.At, v.Hits = now.Add(2*time.Second), 250
	if r, _ = p.observe(v.At, []scan.Vitals{v}, Own{}); r.Hits != 70 { // 100, of which 30 were owed
		t.Errorf("%+v", r)
	}
	v.At, v.RunID, v.Hits, v.Misses = now.Add(3*time.Second), "2", 5, 0
	r, jolts := p.observe(v.At, []scan.Vitals{v}, Own{})
	if r.Known || len(jolts) != 1 || !jolts[0].restarted {
		t.Errorf("%+v %+v", r, jolts)
	}
}

// Limits are told when they come and when they go, and once.
func TestLimits(t *testing.T) {
	l := newLab(EngineOptions{})
	at := l.c.now()
	if e := l.Limit(at, "INFO", "forbidden"); len(e) != 1 || e[0].Stage != Notice {
		t.Error(e)
	}
	if e := l.Limit(at, "INFO", "forbidden"); len(e) != 0 {
		t.Error(e)
	}
	if s := l.State(at); len(s.Limits) != 1 || s.Limits[0] != "INFO: forbidden" {
		t.Error(s.Limits)
	}
	if e := l.Limit(at, "INFO", ""); len(e) != 1 || len(l.State(at).Limits) != 0 {
		t.Error(e)
	}
}
