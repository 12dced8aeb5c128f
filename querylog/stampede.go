package querylog

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// What counts as a stampede.
const (
	herdCopies  = 50  // identical statements together, from which a stampede harms
	herdAtOnce  = 30  // of them at once or within a second
	someCopies  = 20  // from which it is told at all
	overMean    = 5.0 // times the rate of its class around it
	maxFindings = 10000
)

// stampedes reports HS502: many copies of one identical statement together, also when it happens once.
func (a *analyser) stampedes() {
	for _, c := range a.classes {
		if !c.follower && !c.artefact() {
			a.stampede(c)
		}
	}
}

// stampede reports the bursts of one class.
func (a *analyser) stampede(c *class) {
	var list []Burst
	for _, b := range a.bursts[c] {
		switch {
		case b.Count < someCopies, b.Span > time.Duration(maxRunSpan)/2:
		case b.Conns > 0 && b.Conns < 5: // a few connections: one after the other
		case float64(b.Second) < math.Max(10, overMean*a.around(c, b)):
		case a.taken(b.Start):
		default:
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return
	}
	f := Finding{Rule: "HS502", Severity: rule.Warning, Subject: c.shape, Of: c.n, Texts: c.texts.distinct()}
	hosts := map[hostID]uint64{}
	var identical float64
	for i, b := range list {
		if i < maxFindings {
			f.Teeth = append(f.Teeth, comb.Tooth{At: b.Start, Width: max(b.Span, time.Duration(a.bin)), Count: b.Count})
		}
		f.Count += b.Count
		f.Avoidable += b.Count - 1
		f.AtOnce = max(f.AtOnce, b.Peak)
		f.Second = max(f.Second, b.Second)
		f.HostsATooth = max(f.HostsATooth, b.Hosts)
		f.ConnsATooth = max(f.ConnsATooth, b.Conns)
		identical = max(identical, float64(b.Count))
		for _, x := range c.in(window{b.Start.UnixNano() - a.bin, b.Start.Add(b.Span).UnixNano() + a.bin}) {
			if x.host() != noHost {
				hosts[x.host()] += x.n()
			}
		}
	}
	f.Hosts, f.HostTotal = a.hostList(hosts)
	f.Members = []Class{a.member(c, f.Count)}
	f.Identical = 1
	slices.SortFunc(list, compareBursts)
	f.Bursts = list[:min(len(list), MaxBursts)]
	if top := list[0]; top.Count < herdCopies || top.Count <= 3*uint64(top.Hosts) || max(f.AtOnce, f.Second) < herdAtOnce {
		f.note(fmt.Sprintf("at most %d copies together, %d within a second", top.Count, f.Second))
	}
	f.Causes = a.stampedeCauses(&f, c, list)
	f.Fix = fixStampede(&f)
	a.add(f)
}

// around returns the rate of a class, in statements a second, in the half
// minutes before and after a burst.
func (a *analyser) around(c *class, b Burst) float64 {
	const reach, edge = int64(30 * time.Second), int64(time.Second)
	from, to := b.Start.UnixNano(), b.Start.Add(b.Span).UnixNano()
	before := window{max(from-edge-reach, a.s.from), from - edge}
	after := window{to + edge, min(to+edge+reach, a.s.to)}
	var n uint64
	var seconds float64
	for _, w := range []window{before, after} {
		if w.to > w.from {
			n += count(c.in(w))
			seconds += float64(w.to-w.from) / 1e9
		}
	}
	return float64(n) / math.Max(seconds, 1)
}

// What counts as asking for missing rows again.
const (
	missRepeats = 10   // of one text, from which it counts
	missRate    = 1.0  // repeated misses a second that harm
	missShare   = 0.10 // or of all statements,
	missSome    = 0.05 // if there are at least so many a second
	missNote    = 0.5  // fewer a second are not told, unless they are missShare
)

// missingRows reports HS506: reads of rows that are not there, again and again.
func (a *analyser) missingRows() {
	type sum struct {
		n, repeats, texts uint64
		first, last       int64
	}
	sums := map[*class]*sum{}
	for _, m := range a.s.missing {
		if m.n < missRepeats || m.class == nil || m.class.artefact() || !isLookup(m.class.shape) || !m.steady(a.span) {
			continue
		}
		s := sums[m.class]
		if s == nil {
			s = &sum{first: m.first, last: m.last}
			sums[m.class] = s
		}
		s.n += m.n
		s.repeats += m.n - 1
		s.texts++
		s.first, s.last = min(s.first, m.first), max(s.last, m.last)
	}
	for c, s := range sums {
		if time.Duration(s.last-s.first) < a.span/2 {
			continue // a burst, not a steady miss
		}
		rate := float64(s.repeats) / math.Max(a.span.Seconds(), 1)
		f := Finding{
			Rule: "HS506", Severity: rule.Warning, Subject: c.shape, Count: s.n, Of: c.n, Texts: s.texts,
			Avoidable: s.repeats, Rate: rate, Members: []Class{a.member(c, s.n)},
		}
		hosts := map[hostID]uint64{}
		for _, x := range c.starts.list {
			if x.host() != noHost {
				hosts[x.host()] += x.n()
			}
		}
		f.Hosts, f.HostTotal = a.hostList(hosts)
		share := float64(s.repeats) / float64(max(a.out.Statements, 1))
		unknown := c.sentKnown == 0
		switch {
		case unknown && rate < missRate, rate < missNote && share < missShare:
			continue
		case unknown:
			f.note("the log has no row counts: a slow log with long_query_time=0 would tell whether the rows exist")
		case rate < missRate && (share < missShare || rate < missSome):
			f.note(fmt.Sprintf("%.2g repeated misses a second: too few to harm", rate))
		}
		f.Causes = missingCauses(&f, unknown)
		f.Fix = fixMissing(&f)
		a.add(f)
	}
	slices.SortStableFunc(a.out.Findings, func(x, y Finding) int { return cmp.Compare(x.Rule, y.Rule) })
}

// isLookup says whether a read asks for rows by key. Reports and searches are
// empty because nothing matches, polls because nothing is to do.
func isLookup(shape string) bool {
	if !strings.Contains(shape, "= ?") && !strings.Contains(shape, "in (?+)") {
		return false
	}
	for _, s := range []string{" like ", " for update", " lock in ", " match", " regexp "} {
		if strings.Contains(shape, s) {
			return false
		}
	}
	return true
}

// steady says whether the misses come like those of independent readers and
// not in bursts: the windows they fall into are about as many as a Poisson
// stream of this rate would fill.
func (m *missing) steady(span time.Duration) bool {
	windows := math.Max(span.Seconds(), 1) / (float64(missWindow) / 1e9)
	mean := float64(m.n) / windows
	filled := windows * (1 - math.Exp(-mean))
	return float64(m.windows) > filled/2
}

// sampled reports HS507: logs whose counts mislead.
func (a *analyser) sampled() {
	for _, v := range a.out.Coverage {
		f := Finding{Rule: "HS507", Severity: rule.Note, Subject: v.Source, Source: v.Source, Count: v.Read, Of: v.Read}
		switch {
		case v.SampleRate > 1:
			f.Reason = fmt.Sprintf("one of %d was logged (log_slow_rate_limit, by %s)", v.SampleRate, orWord(v.SampleKind, "an unknown rule"))
			f.Fix.Text = "SET GLOBAL log_slow_rate_limit = 1 while you look; until then counts are about " + fmt.Sprint(v.SampleRate) + " times larger"
		case v.Timed >= minStatements && v.MinDuration >= 100*time.Millisecond:
			f.Reason = fmt.Sprintf("no statement below %v is in the log: counts are lower bounds, and a herd of fast statements shows only once the server is slow", v.MinDuration)
			f.Fix.Text = "SET GLOBAL long_query_time = 0 for a few minutes, or use the general log or herdscan querylog --live"
		default:
			continue
		}
		a.add(f)
	}
	if a.s.throttle > 0 {
		a.add(Finding{
			Rule: "HS507", Severity: rule.Note, Subject: "log_throttle_queries_not_using_indexes", Count: a.s.throttle, Of: a.s.throttle,
			Reason: fmt.Sprintf("%d lines stand for statements that the server left out", a.s.throttle),
			Fix:    Fix{Text: "SET GLOBAL log_throttle_queries_not_using_indexes = 0 while you look"},
		})
	}
}

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
