package querylog

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// outage is a time in which the server did not answer.
type outage struct {
	from, to int64 // Unix ns: the last statement before, the first after
	why      string
}

const (
	stormReach = int64(30 * time.Minute) // a storm is looked for this long after an outage
	stormStart = int64(2 * time.Minute)  // it begins this soon after it
	minWaves   = 3
	maxPause   = int64(10 * time.Minute)
)

// findOutages finds silences of the whole log, restarts of the server and bursts of errors.
func (a *analyser) findOutages() {
	all := seconds(a.classes, a.s.level)
	n := max(len(all), 1)
	// A Poisson stream has no pause this long among so many, but for one chance in 3000.
	limit := max(int64(5*time.Second), int64(a.span.Seconds()/float64(n)*(math.Log(float64(n))+8)*float64(time.Second)))
	for i := 1; i < len(all); i++ {
		if from, to := all[i-1].at, all[i].at; to-from > limit {
			a.outages = append(a.outages, outage{from, to, fmt.Sprintf("no statement for %.0f s", float64(to-from)/1e9)})
		}
	}
	if len(a.outages) > 50 {
		a.outages = nil // silences are normal in this log
	}
	for _, t := range a.s.restarts {
		at := t.UnixNano()
		if !slices.ContainsFunc(a.outages, func(o outage) bool { return at >= o.from && at <= o.to+int64(10*time.Second) }) {
			a.outages = append(a.outages, outage{at, at, "the server started"})
		}
	}
	a.failureBursts()
	slices.SortFunc(a.outages, func(x, y outage) int { return cmp.Compare(x.to, y.to) })
}

// failureBursts takes bursts of refused connections and errors for outages.
func (a *analyser) failureBursts() {
	f := a.s.failures
	if f == nil || f.Total() < minStatements {
		return
	}
	r := comb.Detect(f, a.options(1))
	for _, sp := range r.Spikes {
		at := sp.At.UnixNano()
		a.outages = append(a.outages, outage{at, at + int64(sp.Width), fmt.Sprintf("%d refused or failed in %v", sp.Count, sp.Width.Round(time.Second))})
	}
}

// wave is one burst of a storm.
type wave struct {
	at int64
	n  uint64
}

// storms finds retries in step: waves after an outage, a constant or doubling
// pause apart, that die down.
func (a *analyser) storms() {
	for i, o := range a.outages {
		reach := o.to + stormReach
		if i+1 < len(a.outages) {
			reach = min(reach, a.outages[i+1].from)
		}
		a.stormAfter(o, reach)
	}
}

// stormAfter looks at the statements after one outage.
func (a *analyser) stormAfter(o outage, reach int64) {
	type part struct {
		c *class
		n uint64
	}
	var parts []part
	for _, c := range a.classes {
		if c.admin || c.n < minStatements {
			continue
		}
		after := count(c.in(window{o.to, reach}))
		before := count(c.in(window{o.to - stormReach, o.from}))
		if quiet := float64(o.from-max(o.to-stormReach, a.out.From.UnixNano())) / 1e9; quiet > 0 {
			expected := float64(before) / quiet * float64(min(reach, a.out.To.UnixNano())-o.to) / 1e9
			if float64(after) < 3*expected+10 {
				continue
			}
		}
		parts = append(parts, part{c, after})
	}
	slices.SortFunc(parts, func(x, y part) int {
		return cmp.Or(boolCompare(x.c.follower, y.c.follower), cmp.Compare(y.n, x.n), cmp.Compare(x.c.shape, y.c.shape))
	})
	for _, p := range parts {
		if p.c.follower {
			continue
		}
		waves, pause, growth, ok := a.rhythmic(p.c, window{o.to, reach})
		if !ok || waves[0].at-o.to > stormStart || !dies(waves) {
			continue
		}
		var members []*class
		for _, q := range parts {
			members = append(members, q.c)
		}
		a.storm(o, p.c, members, waves, pause, growth)
		return
	}
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func count(list []cell) (n uint64) {
	for _, c := range list {
		n += c.n()
	}
	return n
}

// rhythmic looks for waves that keep a rhythm. Waves may have a hole in them,
// or follow each other closely: both readings are tried.
func (a *analyser) rhythmic(c *class, w window) (waves []wave, pause time.Duration, growth float64, ok bool) {
	for _, hole := range []time.Duration{2 * time.Second, time.Second} {
		waves = a.waves(c, w, int64(hole))
		if pause, growth, ok = rhythm(waves); ok {
			break
		}
	}
	return waves, pause, growth, ok
}

// waves returns the bursts of a class in a window: runs of seconds well above
// the others, at most hole apart.
func (a *analyser) waves(c *class, w window, hole int64) []wave {
	var secs []wave
	var peak uint64
	for _, x := range c.in(w) {
		at := x.at() - x.at()%int64(time.Second)
		if k := len(secs) - 1; k >= 0 && secs[k].at == at {
			secs[k].n += x.n()
		} else {
			secs = append(secs, wave{at, x.n()})
		}
	}
	for _, s := range secs {
		peak = max(peak, s.n)
	}
	floor := max(uint64(3), peak/20)
	var out []wave
	last := int64(0)
	for _, s := range secs {
		if s.n < floor {
			continue
		}
		if len(out) > 0 && s.at-last <= hole {
			out[len(out)-1].n += s.n
		} else {
			out = append(out, s)
		}
		last = s.at
	}
	return out
}

// rhythm says whether the pauses between waves are constant or double.
func rhythm(waves []wave) (pause time.Duration, growth float64, ok bool) {
	if len(waves) < minWaves {
		return 0, 0, false
	}
	var pauses, ratios []float64
	for i := 1; i < len(waves); i++ {
		pauses = append(pauses, float64(waves[i].at-waves[i-1].at))
		if i > 1 {
			ratios = append(ratios, pauses[i-1]/pauses[i-2])
		}
	}
	mid := median(pauses)
	if mid > float64(maxPause) {
		return 0, 0, false
	}
	steady := 0
	for _, p := range pauses {
		if math.Abs(p-mid) <= max(0.15*mid, 1.1e9) {
			steady++
		}
	}
	if len(waves) > minWaves && float64(steady) >= 0.75*float64(len(pauses)) {
		return time.Duration(mid), 1, true
	}
	doubled := 0
	for _, q := range ratios {
		if q > 1.5 && q < 2.7 {
			doubled++
		}
	}
	if len(ratios) >= 2 && float64(doubled) >= 0.75*float64(len(ratios)) {
		return time.Duration(pauses[0]), median(ratios), true
	}
	return 0, 0, false
}

// dies says whether the last waves are smaller than the first.
func dies(waves []wave) bool {
	third := max(1, len(waves)/3)
	var first, last uint64
	for i := range third {
		first += waves[i].n
		last += waves[len(waves)-1-i].n
	}
	return float64(last) < 0.67*float64(first)
}

// storm reports one retry storm.
func (a *analyser) storm(o outage, main *class, members []*class, waves []wave, pause time.Duration, growth float64) {
	f := Finding{Rule: "HS505", Severity: rule.Warning, Subject: main.shape, Spacing: pause, Growth: growth}
	if o.from != o.to || o.why == "the server started" {
		f.Outage = time.Unix(0, o.to).UTC()
	}
	for i, w := range waves {
		width := min(int64(pause)/2, int64(3*time.Second))
		if i+1 < len(waves) {
			width = min(width, waves[i+1].at-w.at)
		}
		f.Teeth = append(f.Teeth, comb.Tooth{At: time.Unix(0, w.at).UTC(), Width: time.Duration(max(width, a.bin)), Count: w.n})
	}
	end := waves[len(waves)-1].at + int64(pause)
	storm := window{o.from, end}
	a.stormed = append(a.stormed, storm)
	a.gather(&f, []*class{main}, f.Teeth)
	f.Count = 0
	for _, c := range members {
		n := count(c.in(storm))
		f.Members = append(f.Members, a.member(c, n))
		if !c.follower {
			f.Count += n
		}
		f.Of += c.n
	}
	slices.SortStableFunc(f.Members, func(x, y Class) int {
		return cmp.Or(boolCompare(x.Hash != main.hash, y.Hash != main.hash), boolCompare(x.Follower, y.Follower))
	})
	_, f.Second = a.peakIn([]*class{main}, storm)
	a.scale(&f)
	if growth == 1 && len(waves) > minWaves {
		f.Comb = stormComb(&f, pause)
	}
	f.Causes = a.stormCauses(&f, o, waves)
	f.Fix = fixRetry(&f)
	a.add(f)
}

// stormComb describes waves at a constant pause as a comb.
func stormComb(f *Finding, pause time.Duration) *comb.Comb {
	n := len(f.Teeth) - 1
	span := f.Teeth[n].At.Sub(f.Teeth[0].At)
	periods := max(1, int(math.Round(float64(span)/float64(pause))))
	c := &comb.Comb{Period: span / time.Duration(periods), Anchor: f.Teeth[0].At, Lock: comb.Free, Teeth: f.Teeth, Missing: periods - n, Peak: f.Second, Harm: true}
	var heights []float64
	for _, t := range f.Teeth {
		heights = append(heights, float64(t.Count))
		c.Width = max(c.Width, t.Width)
	}
	c.Height = median(heights)
	c.Share = min(1, float64(f.Count)/float64(max(f.Of, 1)))
	return c
}

// peakIn returns the busiest second of classes in a window.
func (a *analyser) peakIn(classes []*class, w window) (at time.Time, n uint64) {
	s := &a.few
	s.Reset(time.Duration(a.bin))
	for _, c := range classes {
		for _, x := range c.in(w) {
			s.Add(x.at(), x.n())
		}
	}
	t, n := s.Peak()
	return time.Unix(0, t).UTC(), n
}

// taken says whether a time belongs to a retry storm.
func (a *analyser) taken(t time.Time) bool {
	ns := t.UnixNano()
	return slices.ContainsFunc(a.stormed, func(w window) bool { return ns >= w.from && ns < w.to })
}
