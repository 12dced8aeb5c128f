package comb

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DetectFamilies tests many series together, on all processors. It returns the
// result of each one, in the order given, and the herds: combs of the same
// period and phase are one family, to which series belong that are too weak to
// be judged alone; the sum of the series without a comb is searched too. Each
// comb of a series that is no follower is in one family, alone if need be.
// Families are sorted by the certainty of their comb. Series whose bins differ
// from the first one's are tested alone and in no sum.
func DetectFamilies(series []Named, o Options) (each []Result, families []Family) {
	o.Tried = max(o.Tried, len(series))
	f := grouping{series: series, options: o}
	f.detectAll()
	f.group()
	f.divide()
	f.searchWeak()
	families = f.families()
	slices.SortStableFunc(families, func(a, b Family) int { return cmp.Compare(a.Comb.LogP, b.Comb.LogP) })
	return f.each, families
}

// detectAll is Detect on each series.
func (f *grouping) detectAll() {
	for i := range f.series {
		if s := f.series[i].Series; s != nil {
			s.settle() // a series given twice is then only read
		}
	}
	f.each, f.extents = make([]Result, len(f.series)), make([]extent, len(f.series))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(f.series)) {
		wg.Go(func() {
			var m workshop
			var memory Series
			for i := next.Add(1) - 1; i < int64(len(f.series)); i = next.Add(1) - 1 {
				s := f.series[i].get(&memory)
				f.each[i], f.extents[i] = m.detect(s, f.options), extentOf(s)
			}
		})
	}
	wg.Wait()
}

// grouping is the state of one DetectFamilies call.
type grouping struct {
	series  []Named
	each    []Result
	extents []extent
	options Options
	memory  workshop // of the sums
	current Series   // memory of the one looked at
	herds   []*herd
}

// herd is a comb and the series in which it was found.
type herd struct {
	comb   Comb
	own    map[int]bool // series with this comb of their own
	sum    bool         // found only in the sum of weak series
	summed []int        // series measured together last
	combs  []Comb       // of their sum
	bin    int64        // of the series whose events were counted last
	stays  []stay       // where such a series has its teeth
}

// ownComb is comb number k of series i.
type ownComb struct{ i, k int }

// group puts the combs of the series into herds, the most certain ones first.
func (f *grouping) group() {
	var all []ownComb
	for i, r := range f.each {
		for k := range r.Combs {
			all = append(all, ownComb{i, k})
		}
	}
	slices.SortStableFunc(all, func(a, b ownComb) int { return cmp.Compare(f.comb(a).LogP, f.comb(b).LogP) })
	for _, followers := range []bool{false, true} {
		for _, c := range all {
			if f.series[c.i].Follower == followers {
				f.place(c, followers)
			}
		}
	}
}

func (f *grouping) comb(c ownComb) *Comb { return &f.each[c.i].Combs[c.k] }

// place adds a comb to the first herd that it is one with. A follower founds none.
func (f *grouping) place(c ownComb, follower bool) {
	for _, h := range f.herds {
		if together(&h.comb, f.comb(c)) {
			h.own[c.i] = true
			return
		}
	}
	if !follower {
		f.herds = append(f.herds, &herd{comb: *f.comb(c), own: map[int]bool{c.i: true}})
	}
}

// ownShare is the share of a series' teeth that must lie in those of its herd.
const ownShare = 0.5

// divide takes out of a herd the series whose teeth lie mostly outside of its
// common teeth: thousands of keys and one hot key that were filled together
// have one TTL and take different times to rebuild, and within some periods
// they are two herds.
func (f *grouping) divide() {
	for _, h := range f.herds {
		var causes []int
		for i := range h.own {
			if !f.series[i].Follower {
				causes = append(causes, i)
			}
		}
		if len(causes) < 2 {
			continue
		}
		slices.Sort(causes)
		common := f.measure(h, causes)
		for _, i := range causes {
			own := f.ownComb(i, h)
			if own == nil || len(h.own) < 2 {
				continue
			}
			s := f.series[i].get(&f.current)
			if float64(s.within(common.stays(s.BinWidth()))) >= ownShare*float64(inAll(own.Teeth)) {
				continue
			}
			delete(h.own, i)
			f.herds = append(f.herds, &herd{comb: *own, own: map[int]bool{i: true}})
			if own.Anchor.Equal(h.comb.Anchor) && own.Period == h.comb.Period {
				h.comb = *f.ownComb(f.first(h), h)
			}
		}
	}
}

// first is the series of a herd whose own comb is the most certain.
func (f *grouping) first(h *herd) int {
	best := -1
	for i := range h.own {
		if c := f.ownComb(i, h); c != nil && (best < 0 || c.LogP < f.ownComb(best, h).LogP || c.LogP == f.ownComb(best, h).LogP && i < best) {
			best = i
		}
	}
	return best
}

const (
	periodSlack = 0.05 // keys of one TTL differ so much in period, for some take longer to rebuild
	phaseSlack  = 0.1  // of a period: teeth further apart are never one
	meeting     = 0.6  // share of the teeth that meet in one herd
	bornTeeth   = 3    // first teeth that meet in a herd that was born together and drifts apart
)

// together reports whether two combs are one herd: they meet all along, or
// they were born together and drift apart because some take longer to rebuild.
func together(a, b *Comb) bool {
	longer := max(a.Period, b.Period)
	if off := (a.Period - b.Period).Abs(); float64(off) > periodSlack*float64(longer) {
		return false
	}
	if a.Lock != b.Lock && (a.Lock == WallClock || b.Lock == WallClock) && a.Lock != Undetermined && b.Lock != Undetermined {
		return false
	}
	slack := min(max(a.Width, b.Width, 2*time.Second), time.Duration(phaseSlack*float64(longer)))
	from, to := later(a.Teeth[0].At, b.Teeth[0].At), earlier(last(a.Teeth).At, last(b.Teeth).At)
	at, bt := within(a.Teeth, from.Add(-slack), to.Add(slack)), within(b.Teeth, from.Add(-slack), to.Add(slack))
	if len(bt) < len(at) {
		at, bt = bt, at
	}
	if len(at) < bornTeeth {
		return false
	}
	if float64(meet(at, bt, slack)) >= meeting*float64(len(at)) {
		return true
	}
	apart := max(slack, time.Duration(periodSlack*float64(longer)))
	drift := a.Lock == Drifting || b.Lock == Drifting
	return drift && a.Lock != WallClock && b.Lock != WallClock && meet(at[:bornTeeth], bt, apart) == bornTeeth
}

func last(ts []Tooth) Tooth { return ts[len(ts)-1] }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// within returns the teeth that begin in [from, to].
func within(ts []Tooth, from, to time.Time) []Tooth {
	a, _ := slices.BinarySearchFunc(ts, from, func(t Tooth, at time.Time) int { return t.At.Compare(at) })
	b := a
	for b < len(ts) && !ts[b].At.After(to) {
		b++
	}
	return ts[a:b]
}

// meet counts the teeth of a that have one of b near them.
func meet(a, b []Tooth, slack time.Duration) int {
	n, j := 0, 0
	for _, t := range a {
		for j < len(b) && b[j].At.Before(t.At.Add(-slack)) {
			j++
		}
		if j < len(b) && !b[j].At.After(t.At.Add(slack)) {
			n++
		}
	}
	return n
}

// searchWeak looks for herds in the sum of the series that have no comb.
func (f *grouping) searchWeak() {
	var weak []int
	for i, n := range f.series {
		if !n.Follower && len(f.each[i].Combs) == 0 {
			weak = append(weak, i)
		}
	}
	if len(weak) < 2 {
		return
	}
	for _, c := range f.memory.detect(f.sum(weak), f.options).Combs {
		if !slices.ContainsFunc(f.herds, func(h *herd) bool { return together(&h.comb, &c) }) {
			f.herds = append(f.herds, &herd{comb: c, own: map[int]bool{}, sum: true})
		}
	}
}

// families names the members of each herd and measures its comb on their sum.
func (f *grouping) families() []Family {
	if len(f.herds) == 0 {
		return nil
	}
	out := make([]Family, len(f.herds))
	for i := range f.series {
		if f.extents[i].n == 0 {
			continue
		}
		s := f.series[i].get(&f.current)
		for k, h := range f.herds {
			if m, ok := f.member(i, s, h); ok {
				out[k].Members = append(out[k].Members, m)
			}
		}
	}
	for k, h := range f.herds {
		var causes []int
		for _, m := range out[k].Members {
			if m.Own && !m.Follower {
				causes = append(causes, m.Index)
			}
		}
		out[k].Comb = f.measure(h, causes)
		slices.SortStableFunc(out[k].Members, func(a, b Member) int {
			switch {
			case a.Follower && !b.Follower:
				return 1
			case b.Follower && !a.Follower:
				return -1
			}
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
		})
	}
	return out
}

// member describes a series in a herd; ok is false when it is not in it.
func (f *grouping) member(i int, s *Series, h *herd) (m Member, ok bool) {
	n := &f.series[i]
	var inside uint64
	if h.own[i] {
		inside, ok = f.ownTeeth(i, h), true
	} else {
		inside, ok = f.concentrated(i, s, h)
	}
	return Member{Name: n.Name, Index: i, Count: inside, Follower: n.Follower, Own: h.own[i]}, ok
}

// measure returns the comb of the sum of the causes.
func (f *grouping) measure(h *herd, causes []int) Comb {
	if len(causes) < 2 {
		return h.comb
	}
	if !slices.Equal(causes, h.summed) {
		h.summed, h.combs = causes, f.memory.detect(f.sum(causes), f.options).Combs
	}
	for _, c := range h.combs {
		if together(&h.comb, &c) {
			return c
		}
	}
	return h.comb
}

// ownTeeth counts the events in the teeth of a series' own comb of this herd.
func (f *grouping) ownTeeth(i int, h *herd) uint64 {
	if c := f.ownComb(i, h); c != nil {
		return inAll(c.Teeth)
	}
	return 0
}

// ownComb is the comb of a series that is one with a herd, or nil.
func (f *grouping) ownComb(i int, h *herd) *Comb {
	for k := range f.each[i].Combs {
		if c := &f.each[i].Combs[k]; together(&h.comb, c) {
			return c
		}
	}
	return nil
}

// inAll is the number of events in all teeth.
func inAll(teeth []Tooth) (sum uint64) {
	for _, t := range teeth {
		sum = addSat(sum, t.Count)
	}
	return sum
}

// stay is a span of time in Unix nanoseconds, to excluded.
type stay struct{ from, to int64 }

// stays are where events of each tooth may lie, in time order.
func (c *Comb) stays(bin time.Duration) []stay {
	out := make([]stay, len(c.Teeth))
	for i, t := range c.Teeth {
		out[i] = stay{clampNano(t.At.Add(-c.Width/2 - bin)), clampNano(t.At.Add(c.Width + bin))}
	}
	return out
}

const (
	memberShare  = 0.5 // of a series' events that must come with the teeth
	companyShare = 0.1 // the same for a follower, which accompanies everything, and where no series has the comb alone
	memberLLR    = 7.0 // by how much its events must favour the teeth
)

// concentrated counts the events of series i in the teeth of a herd and says
// whether there are far more than its events spread evenly would give.
func (f *grouping) concentrated(i int, s *Series, h *herd) (inside uint64, yes bool) {
	if h.stays == nil || h.bin != s.bin {
		h.bin, h.stays = s.bin, h.comb.stays(s.BinWidth())
	}
	inside = s.within(h.stays)
	var windows int64
	for _, w := range h.stays {
		windows += w.to - w.from
	}
	first, end := s.Span()
	span := float64(end-first) + float64(s.bin)
	if !f.options.From.IsZero() && !f.options.To.IsZero() {
		span = max(span, float64(f.options.To.Sub(f.options.From)))
	}
	total := float64(f.extents[i].total)
	expected := total * min(float64(windows)/span, 1)
	share, need := memberShare, memberLLR
	if f.series[i].Follower || h.sum {
		share = companyShare
	}
	if !h.sum {
		need += math.Log(float64(len(f.series)))
	}
	k := float64(inside)
	return inside, (k-expected) >= share*total && llr(k, expected) > need
}

// within counts the events in bins that begin in the given spans of time, which rise.
func (s *Series) within(stays []stay) (sum uint64) {
	at := 0
	for _, w := range stays {
		skip, _ := findCell(s.cells[at:], floorDiv(w.from, s.bin))
		at += skip
		for i := at; i < len(s.cells) && s.start(s.cells[i].x) < w.to; i++ {
			sum = addSat(sum, s.cells[i].n)
		}
	}
	return sum
}
