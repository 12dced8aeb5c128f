package querylog

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

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
		f := Finding{
			Rule: "HS506", Severity: rule.Warning, Subject: c.shape, Count: s.n, Of: c.n, Texts: s.texts,
			Avoidable: s.repeats, Rate: float64(s.repeats) / math.Max(a.span.Seconds(), 1), Members: []Class{a.member(c, s.n)},
		}
		hosts := map[hostID]uint64{}
		for x := range c.starts.all() {
			if x.host() != noHost {
				hosts[x.host()] += x.n()
			}
		}
		f.Hosts, f.HostTotal = a.hostList(hosts)
		share := float64(s.repeats) / float64(max(a.out.Statements, 1))
		unknown := c.sentKnown == 0
		a.scale(&f)
		rate := f.Rate
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
		if unknown {
			f.Avoidable = 0
			f.Fix = Fix{Text: "log rows for some minutes (a slow log with long_query_time=0); if these find none, cache the absence too"}
		}
		a.add(f)
	}
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
