package querylog

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog/sqltext"
)

// analyser holds what the rules share.
type analyser struct {
	s       *Summary
	o       AnalyseOptions
	bin     int64 // of the series, ns
	scaled  bool  // statements were left out of the log, see scale.go
	span    time.Duration
	classes []*class // all of them, the most frequent first
	bursts  map[*class][]Burst
	results map[*class]comb.Result
	outages []outage
	out     *Analysis

	sampledAt map[*class]map[int64]uint64 // statements by bins of their weights, see logged

	stormed []window // taken by a retry storm: no comb, no one-off

	byHost hostCounts  // memory of crowdOf
	few    comb.Series // memory of peakIn
}

// minStatements is how many statements a log needs before anything is said.
const minStatements = 20

// Analyse looks for herds. The Summary is not changed.
func Analyse(s *Summary, o AnalyseOptions) *Analysis {
	s.settle()
	a := &analyser{s: s, o: o, bursts: map[*class][]Burst{}, results: map[*class]comb.Result{}, out: &Analysis{}}
	a.prepare()
	a.findRate()
	a.sampled()
	if a.judgeable() {
		a.findOutages()
		a.storms()
		a.combs()
		a.oneOffs()
		a.stampedes()
		a.missingRows()
	}
	for i := range a.out.Findings {
		a.out.Findings[i].Fingerprint = a.out.Findings[i].fingerprint()
	}
	slices.SortStableFunc(a.out.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(y.Severity, x.Severity), cmp.Compare(x.Rule, y.Rule), cmp.Compare(y.Count, x.Count), cmp.Compare(x.Subject, y.Subject))
	})
	return a.out
}

// prepare sorts what the rules look at and fills the head of the Analysis.
func (a *analyser) prepare() {
	s, out := a.s, a.out
	a.bin = int64(max(binOf(s.level), time.Second))
	if s.fine && !s.coarse && s.level == 0 {
		a.bin = cellUnit
	}
	out.From, out.To = s.Span()
	a.span = out.To.Sub(out.From)
	out.Statements = s.Statements()
	out.Resolution = s.Resolution()
	out.Coverage = s.Coverage()
	out.Own, out.Throttled = s.own, s.throttle
	out.Folded = Folded{s.gone.len(), s.other.Events, s.other.Hosts, s.missed, s.other.Bursts, binOf(s.level), s.level >= 2}
	for _, c := range s.classes {
		a.classes = append(a.classes, c)
		if !c.follower {
			out.Classes++
		}
		a.bursts[c] = slices.Clone(c.bursts)
	}
	slices.SortFunc(a.classes, func(x, y *class) int { return cmp.Or(cmp.Compare(y.n, x.n), cmp.Compare(x.shape, y.shape)) })
	for _, r := range s.runs.joined(s.gap()) {
		if b, ok := r.burst(); ok {
			a.bursts[r.class] = append(a.bursts[r.class], b)
		}
	}
	for _, list := range a.bursts {
		slices.SortFunc(list, func(x, y Burst) int { return cmp.Or(x.Start.Compare(y.Start), compareBursts(x, y)) })
	}
}

// binOf returns the width of the bins at a level of coarsening.
func binOf(level int) time.Duration {
	w := time.Duration(cellUnit)
	if level >= 1 {
		w = time.Second
	}
	for l := 3; l <= level; l++ {
		w *= 8
	}
	return w
}

// judgeable says whether there is enough to look at, and states why not.
func (a *analyser) judgeable() bool {
	n := a.out.Statements
	switch {
	case n == 0:
		a.out.Undecided, a.out.Need = "no statement in the log: nothing to judge", minStatements
	case n < minStatements:
		a.out.Undecided = fmt.Sprintf("%d statements: too few to judge (need %d)", n, minStatements)
		a.out.Need = minStatements
	case a.out.From.IsZero():
		a.out.Undecided = "no record has a time: nothing to judge"
	case a.span < 20*time.Second:
		a.out.Undecided = fmt.Sprintf("%v of log: too short to judge a period (need 20 s)", a.span.Round(time.Second))
		a.stampedes() // many copies at once can be seen in any second
		return false
	default:
		return true
	}
	return false
}

// member describes a class for a finding.
func (a *analyser) member(c *class, count uint64) Class {
	m := Class{
		Hash: c.hash, Shape: c.shape, Verb: sqltext.Verb(c.shape), Tables: sqltext.Tables(c.shape),
		Count: count, Total: c.n, Sample: c.sample, Timed: c.timed, Longest: c.longest, Duration: c.duration, Follower: c.follower,
	}
	if c.timed > 0 {
		m.Median, m.P95 = c.quantile(0.5), c.quantile(0.95)
	}
	for db := range c.dbs {
		m.DBs = append(m.DBs, db)
	}
	slices.Sort(m.DBs)
	return m
}

// add finishes a finding and keeps it.
func (a *analyser) add(f Finding) {
	slices.SortStableFunc(f.Causes, func(x, y Cause) int { return cmp.Compare(y.Score, x.Score) })
	a.out.Findings = append(a.out.Findings, f)
}

// fingerprint identifies a finding by its rule and its statements.
func (f *Finding) fingerprint() string {
	h := fnv.New64a()
	fmt.Fprintln(h, f.Rule, f.Source, f.Subject)
	if f.Comb != nil && f.Comb.Lock == comb.WallClock {
		fmt.Fprintln(h, f.Comb.Period.Round(time.Second))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// options describe the whole log to the detector.
func (a *analyser) options(tried int) comb.Options {
	return comb.Options{From: a.out.From, To: a.out.To, Resolution: time.Duration(a.bin), Tried: tried, Zone: a.o.Zone}
}

// isRead says whether a statement can be answered from a cache. A locking read
// can't.
func isRead(shape string) bool {
	if strings.HasSuffix(shape, " for update") || strings.HasSuffix(shape, " for share") || strings.HasSuffix(shape, " lock in share mode") ||
		strings.HasSuffix(shape, " skip locked") || strings.HasSuffix(shape, " nowait") {
		return false
	}
	return strings.HasPrefix(shape, "select") || strings.HasPrefix(shape, "with ") || strings.HasPrefix(shape, "(select")
}

// artefact says whether a class belongs to the server, its host or monitoring.
func (c *class) artefact() bool {
	return c.system*2 > c.n || isMaintenance(c.shape) || isMonitoring(c.shape)
}

// note lowers a finding and says why.
func (f *Finding) note(reason string) {
	f.Severity, f.Reason = rule.Note, reason
}
