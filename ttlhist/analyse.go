package ttlhist

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

const defaultMinKeys = 20

// allKeys names the whole keyspace as a subject.
const allKeys = "all keys"

// analyser is one run of Analyse.
type analyser struct {
	Options
	*Analysis
	nowMS int64 // of the snapshot: remaining times count from here
}

// Analyse draws the conclusions from a Summary; what that counted stays as it is.
func Analyse(s *Summary, o Options) *Analysis {
	o.MinKeys = cmp.Or(o.MinKeys, defaultMinKeys)
	if o.Location == nil {
		o.Location = time.UTC
	}
	s.settle()
	a := &analyser{Options: o, Analysis: &Analysis{Sources: s.Sources(), Folds: s.folds()}}
	a.Sampled = sampledShare(a.Sources)
	rows := s.rows()
	a.clock(rows)
	a.Groups = make([]Group, len(rows))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range rows {
		work.Go(func() error {
			a.Groups[i] = a.group(r)
			return nil
		})
	}
	_ = work.Wait() // the functions return no error
	a.total(rows)
	a.groupHerds()
	a.crossHerds()
	a.undecided()
	a.locksWithoutTTL()
	a.evictedTogether()
	a.hotKeys()
	a.fixedTTLs()
	a.cachedForEver()
	a.wallClock()
	a.overBudget()
	a.twoVersions()
	a.sortFindings()
	return a.Analysis
}

// sampledShare is the share of the keys that the sources read on purpose.
func sampledShare(sources []Source) float64 {
	read, all := 0.0, 0.0
	for _, src := range sources {
		share := src.Sampled
		if share <= 0 || share > 1 {
			share = 1
		}
		read += float64(src.Read)
		all += float64(src.Read) / share
	}
	if all == 0 {
		return 1
	}
	return read / all
}

// clock finds out what time it is.
func (a *analyser) clock(rows []*row) {
	var latest time.Time
	for _, src := range a.Sources {
		if src.Now.IsZero() {
			continue
		}
		if a.Snapshot.IsZero() || src.Now.Before(a.Snapshot) {
			a.Snapshot = src.Now
		}
		if src.Now.After(latest) {
			latest = src.Now
		}
	}
	a.Analysis.Now = a.Options.Now
	if a.Analysis.Now.IsZero() {
		a.Analysis.Now = latest
	}
	if a.Snapshot.IsZero() {
		a.Snapshot = a.Analysis.Now
	}
	if a.Snapshot.IsZero() { // no clock at all: the first deadline is the nearest thing to now
		first := int64(farFuture)
		for _, r := range rows {
			if bins := r.expiry.sorted(); len(bins) > 0 {
				first = min(first, bins[0].At)
			}
		}
		a.Snapshot = time.UnixMilli(first % farFuture)
		a.Analysis.Now = a.Snapshot
	}
	a.nowMS = a.Snapshot.UnixMilli()
}

// group makes the line of the table for a row.
func (a *analyser) group(r *row) Group {
	if r.precise < r.withTTL() { // deadlines in whole seconds: no finer bin means anything
		r.expiry.raise(secondLevel)
	}
	g := Group{
		Pattern: r.pattern, Keys: r.keys, WithTTL: r.withTTL(), NoTTL: r.noTTL, FieldTTL: r.fieldTTL,
		Types: typeCounts(r.types), Merged: r.merged, Bin: r.expiry.width(), row: r, series: r.expiry.sorted(),
	}
	g.Kind, g.KindWhy = kindOf(r.pattern, r.types, r.noTTL, a.Kinds)
	for _, k := range r.sample {
		if k.Name != nil {
			g.Examples = append(g.Examples, string(k.Name))
		}
	}
	a.measure(&g)
	return g
}

func typeCounts(types map[string]uint64) []TypeCount {
	var counts []TypeCount
	for name, n := range types {
		counts = append(counts, TypeCount{name, n})
	}
	slices.SortFunc(counts, func(a, b TypeCount) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Type, b.Type))
	})
	return counts
}

// measure fills in what the histogram of a group tells.
func (a *analyser) measure(g *Group) {
	if len(g.series) == 0 {
		return
	}
	g.MinLeft = a.left(g.series[0].At)
	g.MaxLeft = a.left(g.series[len(g.series)-1].At)
	g.Mean = float64(g.WithTTL) / max(1, g.MaxLeft.Seconds())
	g.Busiest, g.BusiestAt = busiestSecond(g.series, g.Bin)
	g.BusiestEstimate = g.Bin > time.Second
	o := comb.ExpiryOptions{Width: g.Bin, MinKeys: a.MinKeys}
	e := comb.FindBursts(g.series, a.nowMS, o)
	g.Judged = e.Judged
	for _, b := range e.Bursts {
		g.Teeth = append(g.Teeth, toothOf(b, g.series, g.Bin))
	}
	g.Spacing = spacing(g.Teeth)
	g.Width = medianWidth(g.Teeth)
	if g.WithTTL > 0 {
		g.InTeeth = float64(keysIn(g.Teeth)) / float64(g.WithTTL)
	}
	g.Base = baseTTL(g, comb.FitBase(g.series, a.nowMS, o, e))
}

func (a *analyser) left(ms int64) time.Duration {
	return time.Duration(ms-a.nowMS) * time.Millisecond
}

// total sums up the whole keyspace. Only keys whose death makes somebody ask
// the source again count for its teeth.
func (a *analyser) total(rows []*row) {
	t := Group{Pattern: allKeys, Merged: len(rows)}
	var all histogram
	for i := range a.Groups {
		g := &a.Groups[i]
		t.Keys += g.Keys
		t.WithTTL += g.WithTTL
		t.NoTTL += g.NoTTL
		t.FieldTTL += g.FieldTTL
		if g.refills() {
			all.raise(min(rows[i].expiry.level, secondLevel))
			all.spread(&rows[i].expiry)
			all.settle()
			all.fit(firstLimit)
		}
	}
	a.Keys, a.WithTTL, a.NoTTL, a.FieldTTL = t.Keys, t.WithTTL, t.NoTTL, t.FieldTTL
	t.series, t.Bin = all.sorted(), all.width()
	a.measure(&t)
	a.Total = t
}

// refills tells whether the death of the group's keys makes somebody ask the
// source again. Fixed-window counters, known by deadlines on the full minute
// or hour, do not: nothing recomputes them.
func (g *Group) refills() bool {
	if !g.Kind.refills() {
		return false
	}
	pin := g.pin(time.UTC)
	return g.Kind != Data || pin != Minute && pin != Hour
}

// spread adds another histogram at this one's width; wider bins are spread
// evenly.
func (h *histogram) spread(other *histogram) {
	width, from := binWidths[h.level], binWidths[other.level]
	if from <= width {
		h.merge(other)
		return
	}
	const most = 3600 // cells that one bin is spread over
	cells := min(from/width, most)
	for _, b := range other.bins {
		for i := range cells {
			if part := b.Count*uint64(i+1)/uint64(cells) - b.Count*uint64(i)/uint64(cells); part > 0 {
				h.add(b.At+i*(from/cells), part)
			}
		}
	}
}

// undecided lists the groups with too few keys to be judged, but for those
// that are part of a herd across patterns.
func (a *analyser) undecided() {
	member := make(map[string]bool)
	for _, f := range a.Findings {
		if f.Herd != nil {
			for _, m := range f.Herd.Members {
				member[m.Pattern] = true
			}
		}
	}
	for i := range a.Groups {
		g := &a.Groups[i]
		if g.WithTTL > 0 && !g.Judged && !member[g.Pattern] {
			a.Undecided = append(a.Undecided, Undecided{
				Pattern: g.Pattern, Keys: g.WithTTL,
				Why: fmt.Sprintf("too few to judge (%d of %d)", g.WithTTL, a.MinKeys),
			})
		}
	}
}

// sortFindings puts the worst first and mends the references between them.
func (a *analyser) sortFindings() {
	order := make([]int, len(a.Findings))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := &a.Findings[i], &a.Findings[j]
		return cmp.Or(cmp.Compare(y.Severity, x.Severity), cmp.Compare(x.Rule, y.Rule),
			cmp.Compare(y.Count, x.Count), cmp.Compare(x.Subject, y.Subject))
	})
	place := make([]int, len(order))
	sorted := make([]Finding, len(order))
	for to, from := range order {
		place[from] = to
		sorted[to] = a.Findings[from]
	}
	for i := range sorted {
		if h := sorted[i].Herd; h != nil && h.Within >= 0 {
			h.Within = place[h.Within]
		}
	}
	a.Findings = sorted
}

// found adds a finding.
func (a *analyser) found(f Finding) { a.Findings = append(a.Findings, f) }

// usual returns the usual severity of a rule.
func usual(id string) rule.Severity {
	for _, r := range Rules() {
		if r.ID == id {
			return r.Severity
		}
	}
	return rule.Note
}
