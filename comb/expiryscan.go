package comb

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// An expiryScan looks for bursts in points. Bursts that were found are taken
// out of rest, down to the baseline, and the search goes on there.
type expiryScan struct {
	o          ExpiryOptions
	all        *expiryPoints // as given
	rest       *expiryPoints
	typical    float64 // keys per second
	dispersion float64
	windows    []expiryWindow
	found      []expiryCluster
	ordinary   []expiryCluster // significant, but no larger than others may be by chance
}

// An expiryWindow is a width to scan with and the dispersion of counts in it.
type expiryWindow struct {
	width, dispersion float64
}

// An expiryCluster is a cluster in seconds from now.
type expiryCluster struct {
	from, to float64 // first and last point
	window   float64 // width of the window that found it
	inWindow float64 // keys in that window
	keys     float64
	baseline float64
	logP     float64
}

const (
	smallGroup   = 200 // keys up to which wide windows are tried whatever the rate
	smallShare   = 3   // widest window of a small group: a third of the longest time
	largeShare   = 16  // of a large one
	widestShare  = 10  // a wider burst of a large group is none: its keys are spread out
	wideShare    = 50  // wider than this share, a burst of a large group needs wideRate
	wideRate     = 5.0 // keys per second
	finest       = 0.25
	searchRounds = 4
)

func newExpiryScan(p *expiryPoints, o ExpiryOptions) *expiryScan {
	s := &expiryScan{o: o, all: p, typical: p.typicalRate(), dispersion: p.dispersion(int(p.n / 4))}
	rest := *p
	rest.count = slices.Clone(p.count)
	s.rest = &rest
	widest := p.longest / largeShare
	if p.n < smallGroup {
		widest = p.longest / smallShare
	}
	for w := max(p.width, min(finest, p.longest/400)); w <= widest; w *= 2 {
		d := s.dispersion
		if cells := p.longest / w; cells >= fewTailCells && cells <= maxCells {
			d = max(d, p.dispersion(int(p.longest/w)))
		}
		s.windows = append(s.windows, expiryWindow{w, d})
	}
	return s
}

// search fills s.found. Each round takes all clusters that don't overlap.
func (s *expiryScan) search() {
	for range searchRounds {
		candidates := s.candidates()
		taken := 0
		for _, c := range candidates {
			if len(s.found) >= s.o.MaxBursts {
				return
			}
			if s.take(c) {
				taken++
			}
		}
		if taken == 0 {
			return
		}
		s.rest.add()
		s.dropOrdinary()
	}
}

// dropOrdinary gives clusters back to the rest that are not much larger than
// what is left at the same width: keys that are written in bursts of all sizes
// (one birth brings others) always have a largest one. The excesses over the
// 90 % quantile fall off exponentially there, and a cluster must be far beyond
// them. The weakest are tried first, so that equal teeth stay together.
func (s *expiryScan) dropOrdinary() {
	const enough = 0.001
	slices.SortFunc(s.found, func(a, b expiryCluster) int { return cmp.Compare(b.logP, a.logP) })
	tails := make(map[float64]expiryTail)
	kept := s.found[:0]
	for _, c := range s.found {
		tail, ok := tails[c.window]
		if !ok {
			tail = s.rest.tail(c.window)
			tails[c.window] = tail
		}
		if tail.chance(c.inWindow) < enough {
			kept = append(kept, c)
			continue
		}
		s.restore(c)
		s.ordinary = append(s.ordinary, c)
		clear(tails)
	}
	s.found = kept
}

// restore puts the keys of a cluster back.
func (s *expiryScan) restore(c expiryCluster) {
	p := s.rest
	for i := p.index(c.from); i < len(p.at) && p.at[i] <= c.to; i++ {
		p.count[i] = s.all.count[i]
	}
	p.add()
}

// An expiryTail is the exponential tail of the counts in cells of a width.
type expiryTail struct {
	cells, from, scale float64
}

// fewTailCells is the number of cells below which a tail can't be measured.
const fewTailCells = 40

func (p *expiryPoints) tail(width float64) expiryTail {
	n := int(p.longest / width)
	if n < fewTailCells {
		return expiryTail{}
	}
	counts := p.filled(width)
	slices.Sort(counts)
	top := counts[max(0, len(counts)-n/10):]
	t := expiryTail{cells: float64(n)}
	if len(top) == n/10 {
		t.from = top[0]
	}
	sum := 0.0
	for _, c := range top {
		sum += c - t.from
	}
	t.scale = max(0.7, math.Sqrt(p.n/float64(n))/2, sum/float64(n/10))
	return t
}

// filled returns the counts of the cells of a width that are not empty.
func (p *expiryPoints) filled(width float64) []float64 {
	var counts []float64
	last := -1.0
	for i, t := range p.at {
		if p.count[i] == 0 {
			continue
		}
		if cell := math.Floor(t / width); cell != last {
			counts = append(counts, 0)
			last = cell
		}
		counts[len(counts)-1] += p.count[i]
	}
	return counts
}

// chance returns the expected number of windows with at least k keys. Windows
// slide, which gives them about four times the chances of cells.
func (t expiryTail) chance(k float64) float64 {
	if t.cells == 0 {
		return 0
	}
	return 4 * t.cells / 10 * math.Exp(-(k-t.from)/t.scale)
}

// candidates returns the significant windows, most significant first.
func (s *expiryScan) candidates() []expiryCluster {
	var all []expiryCluster
	widths := math.Log(float64(len(s.windows)))
	for _, w := range s.windows {
		all = append(all, s.scan(w, widths)...)
	}
	slices.SortFunc(all, func(a, b expiryCluster) int {
		return cmp.Or(cmp.Compare(a.logP, b.logP), cmp.Compare(a.from, b.from))
	})
	return all
}

// scan slides one window over the rest. Of overlapping significant windows it
// keeps the most significant.
func (s *expiryScan) scan(w expiryWindow, widths float64) []expiryCluster {
	p := s.rest
	var all []expiryCluster
	least := 0.1 * p.n * w.width / p.longest // a baseline is never below a tenth of the mean
	var end, left, near, far, right int
	for i, t := range p.at {
		end = p.advance(end, t+w.width)
		left = p.advance(left, t-8*w.width)
		near = p.advance(near, t-w.width/2)
		far = p.advance(far, t+1.5*w.width)
		right = p.advance(right, t+9*w.width)
		keys := p.sum[end] - p.sum[i]
		if keys < s.leastKeys()/2 || keys < s.o.MinRatio*max(s.typical*w.width, least) {
			continue
		}
		before := t - w.width/2 - max(t-8*w.width, 0)
		if before < w.width/2 {
			continue // a block from now on may be keys of a second, shorter TTL
		}
		mu := max(s.typical*w.width, least, (p.sum[near]-p.sum[left])/before*w.width)
		if room := min(t+9*w.width, p.longest) - t - 1.5*w.width; room > w.width {
			mu = max(mu, (p.sum[right]-p.sum[far])/room*w.width)
		}
		if keys < s.o.MinRatio*mu {
			continue
		}
		logP := min(0, logScan(keys/w.dispersion, mu/w.dispersion, w.width, p.longest)+widths)
		if logP > math.Log(s.o.Alpha) {
			continue
		}
		c := expiryCluster{from: t, to: p.at[end-1], window: w.width, inWindow: keys, keys: keys, baseline: mu, logP: logP}
		if n := len(all); n > 0 && all[n-1].from+w.width > t {
			if logP < all[n-1].logP {
				all[n-1] = c
			}
			continue
		}
		all = append(all, c)
	}
	return all
}

// advance moves an index on to the first point at or after t.
func (p *expiryPoints) advance(i int, t float64) int {
	for i < len(p.at) && p.at[i] < t {
		i++
	}
	return i
}

// leastKeys is the smallest excess of a burst: MinKeys, or three quarters of a
// small group.
func (s *expiryScan) leastKeys() float64 {
	return min(float64(s.o.MinKeys), 0.75*s.all.n)
}

// take accepts a candidate if it still stands in what is left, and takes its
// keys out.
func (s *expiryScan) take(c expiryCluster) bool {
	if c.overlaps(s.found) || c.overlaps(s.ordinary) {
		return false
	}
	s.grow(&c)
	if c.keys-c.baseline < s.leastKeys() || c.keys < s.o.MinRatio*c.baseline {
		return false
	}
	if s.all.n >= smallGroup && s.tooWide(c) {
		return false
	}
	s.remove(c)
	if i := s.fringe(c); i >= 0 {
		s.found[i].join(c)
		return true
	}
	s.found = append(s.found, c)
	return true
}

// tooWide tells whether a cluster of a large group is so wide that its keys are
// spread out already, by jitter or because they were written over a long time.
func (s *expiryScan) tooWide(c expiryCluster) bool {
	width := c.to - c.from
	return width > s.all.longest/widestShare || width > s.all.longest/wideShare && c.keys < wideRate*width
}

func (c *expiryCluster) overlaps(others []expiryCluster) bool {
	return slices.ContainsFunc(others, func(f expiryCluster) bool { return c.from <= f.to && c.to >= f.from })
}

// grow widens a cluster while the strip next to it is dense.
func (s *expiryScan) grow(c *expiryCluster) {
	p := s.rest
	width := max(c.to-c.from, c.window/4)
	limit := max(0.1*c.keys/width, 3*max(s.typical, c.baseline/c.window))
	for range 40 {
		strip := max(max(c.to-c.from, c.window/4)/4, p.width)
		grew := false
		if i, j := p.index(c.from-strip), p.index(c.from); j > i && (p.sum[j]-p.sum[i])/strip > limit && !s.taken(p.at[i]) {
			c.from, grew = p.at[i], true
		}
		if i, j := p.index(c.to+p.width/2), p.index(c.to+p.width/2+strip); j > i && (p.sum[j]-p.sum[i])/strip > limit && !s.taken(p.at[j-1]) {
			c.to, grew = p.at[j-1], true
		}
		if !grew {
			break
		}
	}
	c.baseline *= max(c.to-c.from, p.width) / c.window
	c.keys = s.all.between(c.from, c.to+p.width/2)
}

func (s *expiryScan) taken(t float64) bool { return inBurst(s.found, t) }

// remove takes a cluster out of the rest, down to its baseline.
func (s *expiryScan) remove(c expiryCluster) {
	p := s.rest
	share := min(1, c.baseline/max(c.keys, 1))
	for i := p.index(c.from); i < len(p.at) && p.at[i] <= c.to; i++ {
		p.count[i] *= share
	}
}

// fringe returns the index of the larger cluster that c is the edge of, or -1.
func (s *expiryScan) fringe(c expiryCluster) int {
	return slices.IndexFunc(s.found, func(f expiryCluster) bool {
		gap := max(c.from-f.to, f.from-c.to)
		return gap < 1.5*max(f.to-f.from, f.window/4) && c.keys < f.keys/2
	})
}

// join adds the keys of a fringe; its width only if it is a tenth of the whole.
func (f *expiryCluster) join(c expiryCluster) {
	f.keys += c.keys
	f.baseline += c.baseline
	if c.keys > 0.1*f.keys {
		f.from, f.to = min(f.from, c.from), max(f.to, c.to)
	}
}

// bursts returns what was found in order of time, without clusters that are
// no more than the upper edge of steadily written or renewed keys.
func (s *expiryScan) bursts(now int64) []Burst {
	sort.Slice(s.found, func(i, j int) bool { return s.found[i].from < s.found[j].from })
	var all []Burst
	edge := s.all.longest - s.all.width - max(0.002*s.all.longest, min(1, s.all.longest/20))
	for _, f := range s.found {
		newest := f.to >= min(edge, s.all.longest-s.all.width-(f.to-f.from)/4)
		if newest && s.fallsOff(f) {
			continue
		}
		all = append(all, Burst{
			From: now + int64(math.Round(f.from*1000)), To: now + int64(math.Round(f.to*1000)),
			Keys: uint64(f.keys), Baseline: f.baseline, LogP: f.logP, Newest: newest,
		})
	}
	return all
}

// fallsOff tells whether the keys of the newest cluster thin out steadily
// below the longest remaining time, as those of keys renewed at each access
// do: the mean distance from it is then well below half of the width, or the
// stretch below the cluster still holds a part of what the cluster does. A
// herd begins at once. A narrow cluster that holds most of its group is a herd
// whatever its shape: nothing steady is left beside it. So is one that would
// need more renewals than there can be: what is written by one pipeline within
// milliseconds has some shape, too.
func (s *expiryScan) fallsOff(f expiryCluster) bool {
	const part, narrow, most, skewed = 0.15, 1.0 / 20, 0.5, 0.4
	const mostRenewals, mostRenewalsOfAKey = 100_000, 100 // a second
	width := f.to - f.from
	if width <= narrow*s.all.longest && f.keys >= most*s.all.n {
		return false
	}
	if age := skewed * width; age < 1.0/mostRenewalsOfAKey || age < f.keys/mostRenewals {
		return false
	}
	usual := s.typical * width
	if below := s.all.between(f.from-width, f.from); below-usual > part*(f.keys-usual) {
		return true
	}
	age, n := 0.0, 0.0
	for i := s.all.index(f.from); i < len(s.all.at) && s.all.at[i] <= f.to; i++ {
		age += s.all.count[i] * (f.to - s.all.at[i])
		n += s.all.count[i]
	}
	mean := age / n / width
	deviation := math.Sqrt(1.0 / 12 / n * s.dispersion)
	return mean < skewed && mean < 0.5-3*deviation
}

// logScan returns the logarithm of the probability that some window of a
// width holds at least k points of a Poisson process with mu points per window
// over a length (Alm 1983).
func logScan(k, mu, width, length float64) float64 {
	if k <= mu+1 {
		return 0
	}
	tail := logPoisson(k, mu) - math.Log(max(1-mu/(k+1), 1e-9)) // geometric bound on P(X >= k)
	climbs := math.Log((k-mu)/k*mu/width*max(length-width, width)) + logPoisson(k-1, mu)
	top := max(tail, climbs)
	return min(0, top+math.Log(math.Exp(tail-top)+math.Exp(climbs-top)))
}

// logPoisson returns the logarithm of the probability of k at mean mu.
func logPoisson(k, mu float64) float64 {
	if mu <= 0 {
		return math.Inf(-1)
	}
	g, _ := math.Lgamma(k + 1)
	return k*math.Log(mu) - mu - g
}
