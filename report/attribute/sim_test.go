package attribute

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/retry"
	"github.com/herdscan/herdscan/cronlint/schedule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// A world is a simulated application: what its log, its cache and its
// configuration would show.
type world struct {
	*rand.Rand
	from    time.Time
	span    time.Duration
	log     *querylog.Summary
	keys    map[string]time.Time // of the cache: when they expire
	look    time.Time            // when the cache is read
	lint    cronlint.Result
	events  []Event
	down    time.Time // from here to up the database answers nobody
	up      time.Time
	coarse  bool // the log's stamps are whole seconds, without durations
	clients int  // of the application; 0: four
	kind    Kind
	name    string // part of the true cause's name; "": it has none
}

func newWorld(seed uint64, span time.Duration) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 77)), span: span, log: &querylog.Summary{}, keys: map[string]time.Time{}}
	w.from = time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC).Add(time.Duration(w.IntN(86400)) * time.Second)
	w.look = w.from.Add(span + time.Duration(w.IntN(20))*time.Second)
	w.coarse = w.IntN(3) == 0
	w.decoys()
	return w
}

func (w *world) at(sec float64) time.Time { return w.from.Add(seconds(sec)) }

// run logs one statement.
func (w *world) run(at time.Time, host string, thread uint64, took float64, format string, args ...any) {
	if at.Before(w.from) || at.After(w.from.Add(w.span)) || at.After(w.down) && at.Before(w.up) {
		return
	}
	e := querylog.Event{
		Time: at, Query: fmt.Appendf(nil, format, args...), Host: host, User: "app", ThreadID: thread, Kind: querylog.KindQuery,
		Has: querylog.HasTime | querylog.HasThread,
	}
	if w.coarse {
		e.Time = at.Truncate(time.Second)
	} else {
		e.Has |= querylog.HasDuration | querylog.HasRowsSent
		e.Duration, e.RowsSent = seconds(took*(0.9+0.2*w.Float64())), 1
	}
	w.log.Add(&e)
}

// exp draws a waiting time.
func (w *world) exp(mean float64) float64 { return w.ExpFloat64() * mean }

func host(i int) string { return fmt.Sprintf("10.0.0.%d", 10+i) }

// background is traffic that has nothing to do with any herd.
func (w *world) background() {
	texts := []string{
		"select id, total from invoices where account = %d", "update carts set seen = now() where id = %d",
		"insert into audit_log (who, what) values (%d, 'x')", "select name from countries where code = %d", "select * from messages where thread = %d",
	}
	for t := 0.0; t < w.span.Seconds(); t += w.exp(1.2) {
		w.run(w.at(t), host(w.IntN(4)), uint64(w.IntN(40)), 0.003, texts[w.IntN(len(texts))], w.IntN(1e6))
	}
}

// entry adds a schedule.
func (w *world) entry(file, spec, command string) *cronlint.Entry {
	text := spec + " " + command + "\n"
	f := lint.NewFile(file, []byte(text))
	s, err := schedule.Parse(schedule.Vixie, spec)
	if err != nil {
		panic(err)
	}
	e := &cronlint.Entry{File: f, Format: "crontab", Raw: spec, Schedule: s, Command: command, Field: lint.Span{End: len(spec)}, Span: lint.Span{End: len(text)}}
	w.lint.Entries = append(w.lint.Entries, e)
	return e
}

func (w *world) policy(name string, p retry.Policy) {
	f := lint.NewFile(name+".yml", []byte("retry\n"))
	w.lint.Settings = append(w.lint.Settings, &cronlint.Setting{File: f, Format: "test", Span: lint.Span{End: 5}, Subject: "retry " + name, Value: &p})
}

// spreadKeys adds keys that were written steadily with one TTL.
func (w *world) spreadKeys(pattern string, n int, ttl float64) {
	for i := range n {
		w.keys[fmt.Sprintf(pattern, i)] = w.look.Add(seconds(ttl * w.Float64()))
	}
}

// decoys are the suspects that every application has.
func (w *world) decoys() {
	m := w.IntN(60)
	for i, spec := range []string{"0 * * * *", "*/10 * * * *", fmt.Sprintf("%d * * * *", m), "30 4 * * *", "*/15 * * * *", fmt.Sprintf("%d */2 * * *", w.IntN(60)), "* * * * *"} {
		w.entry(fmt.Sprintf("decoys/cron%d", i), spec, []string{"/opt/rotate-logs", "/opt/send-newsletter", "/opt/prune-exports", "/opt/nightly-dump", "/opt/poll-mailbox", "/opt/reindex-search", "/opt/heartbeat"}[i])
	}
	for i, ttl := range []float64{60, 300, 600, 1800, 3600, 86400} {
		w.spreadKeys([]string{"csrf:%d", "geo:%d", "avatar:%d", "profile:%d", "settings:%d", "remember:%d"}[i], 60+w.IntN(400), ttl)
	}
	w.policy("mail", retry.Policy{Shape: retry.Fixed, Delay: 30 * time.Second})
	w.policy("webhook", retry.Policy{Shape: retry.Exponential, Delay: time.Second, Multiplier: 2, Max: time.Minute})
	w.policy("s3", retry.Policy{Shape: retry.Fixed, Delay: 10 * time.Second, Jitter: retry.Jittered, JitterLow: 0.5})
	w.policy("sms", retry.Policy{Shape: retry.Fixed, Delay: 60 * time.Second})
}

// fires lists the fires of a schedule in the log.
func (w *world) fires(e *cronlint.Entry) []time.Time {
	return slices.Collect(e.Schedule.Fires(w.from.Add(-time.Minute).In(cmp.Or(e.Zone, time.UTC)), w.from.Add(w.span)))
}

// batch is a job's work.
func (w *world) batch(at time.Time, from string, n int, table string) {
	t := 0.0
	thread := w.Uint64N(1000) + 1000
	for i := range n {
		w.run(at.Add(seconds(t)), from, thread+uint64(i%3), 0.002, "select id, state from %s where shard = %d", table, i)
		if i%3 == 0 {
			w.run(at.Add(seconds(t)), from, thread+uint64(i%3), 0.002, "update %s set state = 2 where shard = %d", table, i)
		}
		t += 0.015 * w.Float64()
	}
}

// cronHerd is a job that works at its fires, late seconds after them.
func (w *world) cronHerd(late, spread float64) {
	w.kind, w.name = Cron, "jobs/cron"
	spec := []string{"*/5 * * * *", "*/2 * * * *", "3-59/4 * * * *", "7-59/10 * * * *"}[w.IntN(4)]
	command := "/opt/ship-parcels"
	if late > 2 {
		command = fmt.Sprintf("sleep %.0f; %s", late, command)
	}
	e := w.entry("jobs/cron", spec, command)
	for _, f := range w.fires(e) {
		w.batch(f.Add(seconds(late+spread*w.Float64()+0.1)), host(9), 30+w.IntN(10), "parcels")
	}
}

// replicaHerd is a job that every replica runs.
func (w *world) replicaHerd() {
	w.kind, w.name = ReplicaJob, "jobs/app.java"
	e := w.entry("jobs/app.java", "*/3 * * * *", "reconcileParcels")
	k := 3 + w.IntN(5)
	for _, f := range w.fires(e) {
		for i := range k {
			w.batch(f.Add(seconds(0.3*w.Float64()+0.05)), host(20+i), 12, "parcels")
		}
	}
}

// ttlHerd is n keys that a deploy fills together, each refilled when somebody
// asks for it after its death.
func (w *world) ttlHerd(n int, ttl, rebuild float64, snapshot bool) {
	w.kind, w.name = TTL, "price:"
	deploy := 60 * w.Float64()
	if w.IntN(2) == 0 {
		w.events = append(w.events, Event{Kind: Deploy, At: w.at(deploy - 3)})
	}
	if !snapshot {
		w.name = ""
	}
	for i := range n {
		write := deploy + 2*w.Float64()
		mean := 0.3 + 2*w.Float64() // seconds between two readers of this key
		for write < w.span.Seconds()+30 {
			r := rebuild * (0.8 + 0.4*w.Float64())
			w.run(w.at(write), host(w.IntN(cmp.Or(w.clients, 4))), uint64(100+w.IntN(80)), r, "select sku, amount from prices join vat on vat.id = prices.vat where prices.sku = %d", i)
			written := write + r
			if !w.at(written).After(w.look) {
				w.keys[fmt.Sprintf("price:%d", i)] = w.at(written + ttl)
			}
			write = written + ttl + w.exp(mean)
		}
	}
	if !snapshot {
		w.keys = map[string]time.Time{}
	}
	for k, at := range w.keys {
		if at.Before(w.look) {
			delete(w.keys, k)
		}
	}
}

// hotHerd is one key that every reader rebuilds.
func (w *world) hotHerd(ttl, rebuild, reads float64, locked bool) {
	w.kind, w.name = HotKey, "rates"
	for death := 20 * w.Float64(); death < w.span.Seconds()+60; {
		hosts := map[int]bool{}
		end := death + rebuild
		last := end
		for t := death; t < end; t += w.exp(1 / reads) {
			h := w.IntN(6)
			if locked && hosts[h] {
				continue
			}
			hosts[h] = true
			w.run(w.at(t), host(h), uint64(200+w.IntN(300)), rebuild, "select base, rate from fx_rates order by base")
			last = t + rebuild
		}
		if !w.at(last).After(w.look) {
			w.keys["rates:all"] = w.at(last + ttl)
		}
		death = last + ttl + w.exp(1/reads)
	}
	if w.keys["rates:all"].Before(w.look) {
		delete(w.keys, "rates:all")
	}
}

// warmHerd is a job that writes sessions every few minutes with one TTL; when
// they die, their readers ask the database.
func (w *world) warmHerd() {
	w.kind, w.name = WarmUp, "jobs/warm"
	e := w.entry("jobs/warm", "*/5 * * * *", "/opt/warm-basket-cache")
	const ttl = time.Hour
	late := 2 + 6*w.Float64()
	n := 0
	for at := range e.Schedule.Fires(w.from.Add(-2*ttl).In(time.UTC), w.look) {
		for range 60 + w.IntN(20) {
			n++
			write := at.Add(seconds(late + w.Float64()))
			dies := write.Add(ttl)
			if dies.After(w.look) && !write.After(w.look) {
				w.keys[fmt.Sprintf("basket:%d", n)] = dies
			}
			w.run(dies.Add(seconds(w.exp(0.5))), host(w.IntN(4)), uint64(100+w.IntN(80)), 0.02, "select item, qty from baskets where owner = %d", n)
		}
	}
}

// stormHerd is workers that retry together after an outage.
func (w *world) stormHerd(delay float64) {
	w.kind, w.name = Retry, "parcels-db"
	w.policy("parcels-db", retry.Policy{Shape: retry.Fixed, Delay: seconds(delay)})
	start := w.span.Seconds() * (0.3 + 0.3*w.Float64())
	w.down, w.up = w.at(start-40), w.at(start-1)
	w.events = append(w.events, Event{Kind: Outage, At: w.down, To: w.up})
	alive := 200 + w.IntN(100)
	for wave := 0; alive > 8; wave++ {
		t := start + float64(wave)*(delay+0.3)
		for i := range alive {
			w.run(w.at(t+0.6*w.Float64()), host(i%6), uint64(500+i), 0.3, "select job from parcel_queue where worker = %d for update", i)
		}
		alive = int(float64(alive) * (0.68 + 0.1*w.Float64()))
	}
}

// unknownHerd is a comb of a period that nothing explains, from one client.
func (w *world) unknownHerd() {
	w.kind = Unknown
	period := 227 + 11*w.Float64()
	for t := 30.0; t < w.span.Seconds(); t += period {
		w.batch(w.at(t+0.2*w.Float64()), host(9), 35, "ledgers")
	}
}

// evidence is what the world leaves behind.
func (w *world) evidence() Evidence {
	w.background()
	a := querylog.Analyse(w.log, querylog.AnalyseOptions{})
	e := Evidence{Log: a, Lint: &w.lint, Events: w.events}
	if len(w.keys) > 0 {
		s := &ttlhist.Summary{}
		s.Begin(ttlhist.Source{Name: "cache", Kind: "redis", Now: w.look, Resolution: time.Millisecond})
		for _, name := range sortedKeys(w.keys) {
			s.Add(&scan.Key{Name: []byte(name), ExpireMS: w.keys[name].UnixMilli()})
		}
		e.Caches = []Cache{{"cache", ttlhist.Analyse(s, ttlhist.Options{})}}
	}
	return e
}

func sortedKeys(m map[string]time.Time) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// simulations are the causes and how they are simulated.
var simulations = []struct {
	name string
	span time.Duration
	run  func(w *world)
}{
	{"cron", 2 * time.Hour, func(w *world) { w.cronHerd(0, 1) }},
	{"cron that sleeps", 2 * time.Hour, func(w *world) { w.cronHerd(20+float64(w.IntN(30)), 1) }},
	{"cron that starts late", 2 * time.Hour, func(w *world) { w.cronHerd(0, 6) }},
	{"job on every replica", 90 * time.Minute, func(w *world) { w.replicaHerd() }},
	{"ttl group, snapshot", 2 * time.Hour, func(w *world) {
		w.ttlHerd(150+w.IntN(200), []float64{300, 600, 240, 420}[w.IntN(4)], 0.3+0.9*w.Float64(), true)
	}},
	{"ttl group, no snapshot", 2 * time.Hour, func(w *world) {
		w.ttlHerd(150+w.IntN(200), []float64{300, 600, 240, 900}[w.IntN(4)], 0.3+0.9*w.Float64(), false)
	}},
	{"hot key", 2 * time.Hour, func(w *world) {
		w.hotHerd([]float64{120, 300, 600}[w.IntN(3)], 0.5+w.Float64(), 60+200*w.Float64(), false)
	}},
	{"hot key, single flight", 2 * time.Hour, func(w *world) { w.hotHerd([]float64{60, 120, 300}[w.IntN(3)], 0.5+w.Float64(), 100, true) }},
	{"warm-up", 2 * time.Hour, func(w *world) { w.warmHerd() }},
	{"retry storm", 30 * time.Minute, func(w *world) { w.stormHerd([]float64{5, 8, 15, 20}[w.IntN(4)]) }},
	{"unknown", 2 * time.Hour, func(w *world) { w.unknownHerd() }},
}

// A score is how often a simulated cause was found.
type score struct{ n, detected, kind, named, tied int }

// tallest is the verdict about the comb with the most statements.
func tallest(e Evidence, r *Result) *Verdict {
	var best *Verdict
	var most uint64
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Cache < 0 && e.Log.Findings[v.Finding].Comb != nil && e.Log.Findings[v.Finding].Count > most {
			best, most = v, e.Log.Findings[v.Finding].Count
		}
	}
	return best
}

func TestSimulated(t *testing.T) {
	n := 8 // SIMULATIONS=60 gives the rates that docs/attribution.md states
	if v, err := strconv.Atoi(os.Getenv("SIMULATIONS")); err == nil {
		n = v
	}
	for _, sim := range simulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			var got score
			for seed := range n {
				w := newWorld(uint64(1000+seed), sim.span)
				sim.run(w)
				e := w.evidence()
				got.add(t, w, e, Attribute(e), seed)
			}
			t.Logf("detected %d, kind %d, name %d, tied %d of %d", got.detected, got.kind, got.named, got.tied, got.n)
			if float64(got.kind) < math.Ceil(0.85*float64(got.n)) || float64(got.named) < math.Ceil(0.85*float64(got.kind)) {
				t.Errorf("kind %d, name %d of %d", got.kind, got.named, got.n)
			}
		})
	}
}

func (s *score) add(t *testing.T, w *world, e Evidence, r *Result, seed int) {
	t.Helper()
	s.n++
	v := tallest(e, r)
	if v == nil {
		t.Logf("seed %d: nothing detected", seed)
		return
	}
	s.detected++
	best := v.Best()
	if v.Tied {
		s.tied++
	}
	if best.Kind != w.kind {
		t.Logf("seed %d: %s %q %.1f, want %s; for %v, against %v; comb %+v", seed, best.Kind, best.Name, best.Nats, w.kind, best.For, best.Against, short(e, v))
		return
	}
	s.kind++
	if strings.Contains(best.Name, w.name) {
		s.named++
	} else {
		t.Logf("seed %d: named %q, want %q", seed, best.Name, w.name)
	}
}

// short describes the comb of a verdict.
func short(e Evidence, v *Verdict) string {
	f := &e.Log.Findings[v.Finding]
	c := f.Comb
	return fmt.Sprintf("%s %v ± %v %v, %d teeth, %d hosts, %.0f %% identical", f.Rule, c.Period, c.PeriodErr, c.Lock, len(c.Teeth), f.HostsATooth, 100*f.Identical)
}
