package querylog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// incident plants one kind of herd into ordinary traffic.
type incident struct {
	name  string
	span  time.Duration
	plant func(r *rand.Rand) []planted

	rule     string
	severity rule.Severity
	cause    CauseKind
	period   time.Duration
	subject  string
	hosts    int
}

// every calls f for each period of a span, with the start of the tooth.
func every(period, phase, span time.Duration, f func(k int, at time.Duration)) {
	k := 0
	for at := phase; at < span; at += period {
		f(k, at)
		k++
	}
}

func ms(r *rand.Rand, n int) time.Duration { return time.Duration(r.IntN(n)) * time.Millisecond }

func incidents() []incident {
	const half = 30 * time.Minute
	return []incident{
		{
			name: "TTL of many keys", span: half, rule: "HS501", severity: rule.Warning, cause: CauseTTL, period: 121300 * time.Millisecond, subject: "from price",
			plant: func(r *rand.Rand) (out []planted) {
				every(121300*time.Millisecond, 40*time.Second, half, func(_ int, at time.Duration) {
					for i := range 80 {
						out = append(out, planted{at: at + ms(r, 900), took: 900 * time.Millisecond, query: fmt.Sprintf("SELECT * FROM price WHERE sku = 'A%d'", i), host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1})
					}
				})
				return out
			},
		},
		{
			name: "hot key", span: half, rule: "HS501", severity: rule.Warning, cause: CauseHotKey, period: 62 * time.Second, subject: "from rates", hosts: 4,
			plant: func(r *rand.Rand) (out []planted) {
				every(62*time.Second, 10*time.Second, half, func(_ int, at time.Duration) {
					for range 120 {
						out = append(out, planted{at: at + ms(r, 1000), took: time.Second, query: "SELECT * FROM rates WHERE base = 'EUR'", host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1})
					}
				})
				return out
			},
		},
		{
			name: "crontabs at minute 0, 5, 10 ...", span: half, rule: "HS501", severity: rule.Warning, cause: CauseCron, period: 5 * time.Minute, subject: "from queue_",
			plant: func(r *rand.Rand) (out []planted) {
				every(5*time.Minute, 5*time.Minute-7*time.Second, half, func(k int, at time.Duration) {
					for job := range 6 {
						for i := range 12 {
							out = append(out, planted{at: at + 100*time.Millisecond + time.Duration(i)*20*time.Millisecond + ms(r, 15), took: 5 * time.Millisecond, query: fmt.Sprintf("DELETE FROM queue_%c WHERE id = %d", 'a'+job, k*100+i), host: 5, thread: 1000 + 10*k + job})
						}
					}
				})
				return out
			},
		},
		{
			name: "one job's own batch", span: half, rule: "HS501", severity: rule.Note, cause: CauseCron, period: 5 * time.Minute, subject: "from queue",
			plant: func(r *rand.Rand) (out []planted) {
				every(5*time.Minute, 5*time.Minute-7*time.Second, half, func(k int, at time.Duration) {
					for i := range 40 {
						out = append(out, planted{at: at + 100*time.Millisecond + time.Duration(i)*20*time.Millisecond, took: 5 * time.Millisecond, query: fmt.Sprintf("DELETE FROM queue WHERE id = %d", k*100+i), host: 5, thread: 1000 + k})
					}
				})
				return out
			},
		},
		{
			name: "a job on every replica", span: half, rule: "HS503", severity: rule.Warning, cause: CauseReplicaJob, period: 2 * time.Minute, subject: "from orders", hosts: 4,
			plant: func(r *rand.Rand) (out []planted) {
				every(2*time.Minute, 2*time.Minute-7*time.Second, half, func(k int, at time.Duration) {
					for host := range 4 {
						for i := range 10 {
							out = append(out, planted{at: at + time.Duration(i)*30*time.Millisecond + ms(r, 20), took: 5 * time.Millisecond, query: fmt.Sprintf("SELECT * FROM orders WHERE id BETWEEN %d AND %d", i*100, i*100+99), host: host, thread: 500 + host, sent: 9})
						}
					}
				})
				return out
			},
		},
		{
			name: "single flight", span: half, rule: "HS501", severity: rule.Note, cause: CauseHotKey, period: 61 * time.Second, subject: "from rates",
			plant: func(r *rand.Rand) (out []planted) {
				every(61*time.Second, 10*time.Second, half, func(_ int, at time.Duration) {
					for host := range 8 {
						out = append(out, planted{at: at + ms(r, 50), took: time.Second, query: "SELECT * FROM rates WHERE base = 'EUR'", host: host, thread: 100 + host, sent: 1})
					}
				})
				return out
			},
		},
		{
			name: "cold cache once", span: half, rule: "HS504", severity: rule.Warning, cause: CauseColdStart, subject: "select",
			plant: func(r *rand.Rand) (out []planted) {
				for i := range 240 {
					out = append(out, planted{at: 11*time.Minute + ms(r, 1200), took: 300 * time.Millisecond, query: fmt.Sprintf("SELECT * FROM page_%c WHERE id = %d", 'a'+i%4, i), host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1})
				}
				return out
			},
		},
		{
			name: "one statement's cold cache", span: half, rule: "HS504", severity: rule.Warning, cause: CauseColdStart, subject: "from page",
			plant: func(r *rand.Rand) (out []planted) {
				for i := range 90 {
					out = append(out, planted{at: 11*time.Minute + ms(r, 1000), took: 300 * time.Millisecond, query: fmt.Sprintf("SELECT * FROM page WHERE id = %d", i), host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1})
				}
				return out
			},
		},
		{
			name: "hot key once", span: half, rule: "HS504", severity: rule.Warning, cause: CauseHotKey, subject: "from rates", hosts: 4,
			plant: func(r *rand.Rand) (out []planted) {
				return copies(r, 11*time.Minute, 260, "SELECT * FROM rates WHERE base = 'EUR'")
			},
		},
		{
			name: "TTL of many keys that nobody writes by hand", span: half, rule: "HS501", severity: rule.Warning, cause: CauseTTL, period: 191 * time.Second, subject: "from price",
			plant: func(r *rand.Rand) (out []planted) {
				every(191*time.Second, 40*time.Second, half, func(_ int, at time.Duration) {
					for i := range 80 {
						out = append(out, planted{at: at + ms(r, 900), took: 20 * time.Millisecond, query: fmt.Sprintf("SELECT * FROM price WHERE sku = 'A%d'", i), host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1})
					}
				})
				return out
			},
		},
		{
			name: "retries in step after an outage", span: half, rule: "HS505", severity: rule.Warning, cause: CauseRetry, period: 8 * time.Second, subject: "from slots",
			plant: func(r *rand.Rand) (out []planted) {
				for wave := range 7 {
					for i := range 150 - 20*wave {
						out = append(out, planted{at: 15*time.Minute + time.Duration(wave)*8*time.Second + ms(r, 600), took: 50 * time.Millisecond, query: fmt.Sprintf("SELECT * FROM slots WHERE id = %d FOR UPDATE", i), host: i % 4, thread: 300 + i})
					}
				}
				return out
			},
		},
		{
			name: "missing rows", span: half, rule: "HS506", severity: rule.Warning, cause: CauseMissingKey, subject: "from product",
			plant: func(r *rand.Rand) (out []planted) {
				for at := 0.0; at < half.Seconds(); at += r.ExpFloat64() / 3 {
					out = append(out, planted{at: time.Duration(at * 1e9), took: time.Millisecond, query: fmt.Sprintf("SELECT * FROM product WHERE id = %d", 9000000+r.IntN(6)), host: r.IntN(4), thread: 10 + r.IntN(40)})
				}
				return out
			},
		},
	}
}

// outageHole is when the server of the retry incident is down.
func withoutOutage(events []planted, from, to time.Duration) []planted {
	return slices.DeleteFunc(events, func(p planted) bool { return p.at >= from && p.at < to })
}

func TestIncidents(t *testing.T) {
	for _, in := range incidents() {
		for _, write := range []struct {
			name string
			log  func([]planted) string
		}{{"slow", slowLog}, {"general", generalLog}} {
			t.Run(in.name+"/"+write.name, func(t *testing.T) {
				if write.name == "general" && in.rule == "HS506" {
					t.Skip("a general log has no row counts")
				}
				r := rand.New(rand.NewPCG(11, 12))
				events := background(r, 3, in.span)
				if in.rule == "HS505" {
					events = withoutOutage(events, 14*time.Minute, 15*time.Minute)
				}
				a := Analyse(summarise(t, Options{}, text(write.log(append(events, in.plant(r)...)))), AnalyseOptions{})
				in.check(t, a)
			})
		}
	}
}

// TestAvoidable wants of a comb of one hot key that all copies but one a tooth could be saved.
func TestAvoidable(t *testing.T) {
	in := incidents()[1]
	r := rand.New(rand.NewPCG(13, 14))
	a := Analyse(summarise(t, Options{}, text(slowLog(append(background(r, 3, in.span), in.plant(r)...)))), AnalyseOptions{})
	for _, f := range a.Findings {
		if f.Rule == "HS501" {
			if want := f.Count - uint64(len(f.Teeth)); f.Avoidable > want || f.Avoidable < want*95/100 {
				t.Errorf("%d of %d could be saved, want %d", f.Avoidable, f.Count, want)
			}
			return
		}
	}
	t.Error("no HS501")
}

func (in incident) check(t *testing.T, a *Analysis) {
	t.Helper()
	found := false
	for _, f := range a.Findings {
		if f.Rule != in.rule || !strings.Contains(f.Subject, in.subject) {
			if f.Severity >= rule.Warning && !strings.Contains(f.Subject, in.subject) {
				t.Errorf("also %s about %s", f.Rule, f.Subject)
			}
			if in.severity == rule.Note && f.Severity >= rule.Warning {
				t.Errorf("a warning: %s %s", f.Rule, f.Subject)
			}
			continue
		}
		found = true
		if f.Severity != in.severity {
			t.Errorf("severity %v (%s), want %v", f.Severity, f.Reason, in.severity)
		}
		if len(f.Causes) == 0 || f.Causes[0].Kind != in.cause {
			t.Errorf("causes %+v, want %s first", f.Causes, in.cause)
		}
		if f.Rule == "HS503" && !slices.ContainsFunc(a.Findings, func(o Finding) bool { return o.Rule == "HS501" && o.Fingerprint == f.PartOf }) {
			t.Errorf("HS503 is not said to be the herd of HS501, but part of %q", f.PartOf)
		}
		if in.period > 0 && (f.Comb == nil || math.Abs(f.Comb.Period.Seconds()/in.period.Seconds()-1) > 0.01) {
			t.Errorf("comb %+v, want a period of %v", f.Comb, in.period)
		}
		if in.hosts > 0 && f.HostsATooth != in.hosts && f.HostTotal != in.hosts {
			t.Errorf("%d clients a tooth, %d in all, want %d", f.HostsATooth, f.HostTotal, in.hosts)
		}
		if f.TTL > 0 && len(f.Members) > 0 && f.Members[0].Timed > 0 && f.Comb.Period-f.TTL > 4*time.Second {
			t.Errorf("a TTL of %v for a period of %v", f.TTL, f.Comb.Period)
		}
		if f.Fix.Text == "" || f.Fingerprint == "" {
			t.Error("no fix or no fingerprint")
		}
		if e := f.Fix.Effect; e != nil && e.PeakAfter > e.PeakBefore {
			t.Errorf("the fix makes it worse: %+v", e)
		}
	}
	if !found {
		t.Errorf("not found; findings: %s", rulesOf(a))
	}
}

func rulesOf(a *Analysis) string {
	var list []string
	for _, f := range a.Findings {
		list = append(list, fmt.Sprintf("%v %s %s (%s)", f.Severity, f.Rule, f.Subject, f.Reason))
	}
	return strings.Join(list, "; ")
}

// TestQuiet wants nothing from ordinary traffic, with a hot statement that is asked for all the time.
func TestQuiet(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 99))
		events := background(r, 8, 20*time.Minute)
		for at := 0.0; at < 1200; at += r.ExpFloat64() / 20 {
			events = append(events, planted{at: time.Duration(at * 1e9), took: time.Millisecond, query: "SELECT v FROM config WHERE k = 'theme'", host: r.IntN(4), thread: 10 + r.IntN(40), sent: 1})
		}
		for _, log := range []string{slowLog(events), generalLog(events)} {
			a := Analyse(summarise(t, Options{}, text(log)), AnalyseOptions{})
			for _, f := range a.Findings {
				if f.Severity >= rule.Warning {
					t.Errorf("seed %d: %s %s %s", seed, f.Rule, f.Subject, f.Reason)
				}
			}
			if a.Undecided != "" {
				t.Errorf("undecided: %s", a.Undecided)
			}
		}
	}
}

// TestArtefacts wants what the server, its host and monitoring do set apart.
func TestArtefacts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	events := background(r, 3, 30*time.Minute)
	every(15*time.Second, 0, 30*time.Minute, func(k int, at time.Duration) {
		for i := range 12 {
			events = append(events, planted{at: at + ms(r, 100), took: time.Millisecond, query: "SELECT * FROM information_schema.processlist WHERE x = " + fmt.Sprint(i), host: 9, thread: 900 + i})
		}
		events = append(events, planted{at: at + 300*time.Millisecond, took: time.Millisecond, query: "/* herdscan */ SELECT 1 FROM t", host: 9, thread: 901})
	})
	a := Analyse(summarise(t, Options{}, text(slowLog(events))), AnalyseOptions{})
	found := false
	for _, f := range a.Findings {
		if f.Severity >= rule.Warning {
			t.Errorf("%s %s", f.Rule, f.Subject)
		}
		found = found || f.Artefact
	}
	if !found || a.Own != 120 {
		t.Errorf("artefact found: %v; %d own statements, want 120; findings: %s", found, a.Own, rulesOf(a))
	}
}

func TestSampled(t *testing.T) {
	record := "# Time: 2026-03-24T14:%02d:%02d.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: %s  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\n%sSELECT %d FROM t;\n"
	make := func(seconds, extra string) string {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, record, i/60, i%60, seconds, extra, i)
		}
		return b.String()
	}
	tests := []struct{ name, log, want string }{
		{"threshold", make("0.5", ""), "below 500ms"},
		{"sampled", make("0.001", "# Log_slow_rate_type: query  Log_slow_rate_limit: 100\n"), "one of 100"},
		{"neither", make("0.001", ""), ""},
		{"throttled", make("0.001", "") + "# User@Host: [] @  []  Id: 4\n# Query_time: 0.01  Lock_time: 0.006 Rows_sent: 1  Rows_examined: 1\nthrottle:         39 'index not used' warning(s) suppressed.;\n", "left out"},
	}
	for _, tt := range tests {
		a := Analyse(summarise(t, Options{}, text(tt.log)), AnalyseOptions{})
		reason := ""
		for _, f := range a.Findings {
			if f.Rule == "HS507" {
				reason = f.Reason
			}
		}
		if tt.want == "" && reason != "" || !strings.Contains(reason, tt.want) {
			t.Errorf("%s: reason %q, want %q", tt.name, reason, tt.want)
		}
	}
}

func TestRhythm(t *testing.T) {
	at := func(seconds ...float64) (out []wave) {
		for i, s := range seconds {
			out = append(out, wave{int64(s * 1e9), uint64(100 - 10*i)})
		}
		return out
	}
	tests := []struct {
		name   string
		waves  []wave
		ok     bool
		growth float64
	}{
		{"constant", at(0, 6, 12, 18.3, 24), true, 1},
		{"doubling", at(0, 2, 6, 14, 30), true, 2},
		{"irregular", at(0, 3, 20, 22, 60), false, 0},
		{"two", at(0, 5), false, 0},
	}
	for _, tt := range tests {
		_, growth, ok := rhythm(tt.waves)
		if ok != tt.ok || math.Abs(growth-tt.growth) > 0.2 {
			t.Errorf("%s: %v, growth %.2f", tt.name, ok, growth)
		}
	}
	if !dies(at(0, 1, 2, 3, 4)) || dies([]wave{{0, 10}, {1, 11}, {2, 10}}) {
		t.Error("dying waves are not told from steady ones")
	}
}

func TestReadWindow(t *testing.T) {
	w, err := ReadWindow(t.Context(), []Source{text(smallLog())}, Options{}, logStart.Add(19*time.Second), logStart.Add(22*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Texts) == 0 {
		t.Fatal("nothing in the window")
	}
	top := w.Texts[0]
	if string(top.Query) != "SELECT * FROM rates WHERE base = 'EUR'" || top.Count != 60 || top.AtOnce != 60 || len(top.Hosts) != 4 {
		t.Errorf("%+v", top)
	}
	if w.Statements < 60 || w.Statements > 90 {
		t.Errorf("%d statements", w.Statements)
	}
}

func TestRules(t *testing.T) {
	for i, r := range Rules() {
		if want := fmt.Sprintf("HS50%d", i+1); r.ID != want {
			t.Errorf("rule %s, want %s", r.ID, want)
		}
		for _, s := range []string{r.Name, r.Title, r.Why, r.Decided, r.Before, r.After} {
			if s == "" {
				t.Errorf("%s is not documented", r.ID)
			}
		}
		if strings.HasSuffix(r.Title, ".") {
			t.Errorf("%s: the title ends with a full stop", r.ID)
		}
	}
}

func TestTTLBelow(t *testing.T) {
	tests := []struct {
		period time.Duration
		ttl    time.Duration
		ok     bool
	}{
		{30500 * time.Millisecond, 30 * time.Second, true},
		{3601 * time.Second, time.Hour, true},
		{53 * time.Second, 45 * time.Second, false},
		{time.Second, 0, false},
	}
	for _, tt := range tests {
		if ttl, ok := ttlBelow(tt.period); ok != tt.ok || ok && ttl != tt.ttl {
			t.Errorf("%v: %v %v", tt.period, ttl, ok)
		}
	}
}

// TestRowsUnknown wants a general log, which has no row counts, to claim nothing
// about rows that may be missing.
func TestRowsUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	events := background(r, 3, 20*time.Minute)
	for at := 0.0; at < 1200; at += r.ExpFloat64() / 5 {
		events = append(events, planted{at: time.Duration(at * 1e9), took: time.Millisecond, query: "SELECT v FROM config WHERE k = 'theme'", host: r.IntN(4), thread: 10 + r.IntN(40), sent: 1})
	}
	a := Analyse(summarise(t, Options{}, text(generalLog(events))), AnalyseOptions{})
	for _, f := range a.Findings {
		if f.Rule == "HS506" {
			if f.Severity != rule.Note || f.Avoidable != 0 || f.Fix.Effect != nil || f.Causes[0].Score >= 0.5 {
				t.Errorf("%v, %d avoidable, fix %+v, causes %+v", f.Severity, f.Avoidable, f.Fix, f.Causes)
			}
			return
		}
	}
	t.Error("nobody asks for a slow log")
}
