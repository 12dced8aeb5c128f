package spread

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// A board lays the keys of a pattern out in time and tries arrangements.
type board struct {
	c    *Collector
	p    *Plan
	keys []collected // by expiry, then by hash
	now  []int64     // the arrangement tried, for each key
	best []int64
	span [][2]int // the keys of each tooth of the plan: keys[from:to]
	work []int64
}

func newBoard(c *Collector, keys []collected, p *Plan) *board {
	b := &board{c: c, p: p, keys: keys}
	slices.SortFunc(b.keys, func(x, y collected) int {
		if x.at != y.at {
			return cmp.Compare(x.at, y.at)
		}
		return cmp.Compare(order(c.name(&x), p.Seed), order(c.name(&y), p.Seed))
	})
	b.now = make([]int64, len(keys))
	for i := range b.keys {
		b.now[i] = b.keys[i].at
	}
	return b
}

// findTeeth takes over the teeth ahead. It says why there is nothing to do.
func (b *board) findTeeth(row *ttlhist.Group) (why string) {
	if !row.Judged {
		return fmt.Sprintf("%d keys with a TTL: too few to judge (need 20)", row.WithTTL)
	}
	last := 0
	for _, t := range row.Teeth {
		if t.To.Before(b.p.Now) {
			continue
		}
		from, _ := slices.BinarySearchFunc(b.keys, t.From.Add(-edge).UnixMilli(), byExpiry)
		to, _ := slices.BinarySearchFunc(b.keys, t.To.Add(row.Bin+edge).UnixMilli(), byExpiry)
		if from = max(from, last); from >= to {
			continue
		}
		last = to
		b.p.Teeth = append(b.p.Teeth, Tooth{Tooth: t})
		b.span = append(b.span, [2]int{from, to})
	}
	if len(b.p.Teeth) == 0 {
		return "no herd: its keys do not expire together"
	}
	return ""
}

// edge is how far beyond its bounds a tooth is taken: the scan that finds it
// may cut off its thin ends.
const edge = time.Second

func byExpiry(k collected, ms int64) int { return cmp.Compare(k.at, ms) }

// choose finds the arrangement that was asked for, and takes it into the plan.
func (b *board) choose() (why string) {
	p := b.p
	b.best, p.After = slices.Clone(b.now), p.Before
	if p.Target > 0 {
		if float64(p.Before.Busiest) <= p.Target {
			return fmt.Sprintf("the busiest second has %d keys already: no more than the target", p.Before.Busiest)
		}
		b.forTarget()
		p.Reached = float64(p.After.Busiest) <= p.Target
	} else {
		b.forJitter()
		b.keep(b.load())
	}
	if p.After.Busiest >= p.Before.Busiest {
		p.After = p.Before
		if first := p.Teeth[0].Tooth.From; first.Before(p.Floor) {
			return fmt.Sprintf("too late: the tooth falls in %s, and no new expiry may be nearer than %s (--margin, and the time that writing takes)", first.Sub(p.Now).Round(time.Second), p.Floor.Sub(p.Now).Round(time.Second))
		}
		return "nothing would be gained: the busiest second stays as it is"
	}
	b.commit()
	return ""
}

// forJitter lays each tooth out evenly over its own width and the time before
// it that the jitter allows; where keys may live longer, as much time after it
// too. Keys keep their order. None gets an expiry before the floor nor, unless
// it may live longer, after its own.
func (b *board) forJitter() {
	reach := int64(b.p.Jitter * float64(b.p.TTL.Milliseconds()))
	floor := b.p.Floor.UnixMilli()
	for i, s := range b.span {
		r := run{s[0], s[1]}
		for r.from < r.to && b.tooLate(r.from) {
			r.from++
		}
		if r.from == r.to {
			continue
		}
		from := max(b.p.Teeth[i].Tooth.From.UnixMilli()-reach, floor)
		length := float64(b.keys[r.to-1].at - from)
		if !b.p.AllowLonger {
			b.packBehind(r, length/float64(r.to-r.from), float64(from))
			continue
		}
		step := (length + float64(reach)) / float64(r.to-r.from)
		for k := r.from; k < r.to; k++ {
			b.now[k] = from + int64(step*(float64(k-r.from)+0.5))
		}
	}
}

// tooLate tells of a key that dies before anything can be done.
func (b *board) tooLate(k int) bool { return b.keys[k].at <= b.p.Floor.UnixMilli() }

// forTarget finds the smallest spread by which no second has more keys than the
// target: the keys that have to make room follow each other at the target's
// rate. It is a little lower only where other keys of the pattern die in
// between.
func (b *board) forTarget() {
	crowded := b.crowded()
	low, high, rate := 0.0, b.p.Target, b.p.Target
	const tries = 16
	for range tries {
		b.follow(crowded, rate)
		l := b.load()
		if l.Busiest < b.p.After.Busiest || float64(l.Busiest) <= b.p.Target {
			b.keep(l)
		}
		if float64(l.Busiest) <= b.p.Target {
			low = rate
		} else {
			high = rate
		}
		if low == b.p.Target || high-low < b.p.Target/200 {
			return
		}
		rate = (low + high) / 2
	}
}

// crowded marks the keys that have to make room, and those for which they do:
// if any key dies at least a second before the one that comes Target places
// later, no second has more than Target. The latest such arrangement shows who
// has to move.
func (b *board) crowded() []bool {
	n := max(1, int(b.p.Target))
	at, crowded := make([]int64, len(b.keys)), make([]bool, len(b.keys))
	for k := len(b.keys) - 1; k >= 0 && !b.tooLate(k); k-- {
		at[k] = b.keys[k].at
		if k+n < len(at) && at[k+n]-1000 < at[k] {
			at[k] = at[k+n] - 1000
			for i := k + n; i >= k && !crowded[i]; i-- {
				crowded[i] = true
			}
		}
	}
	return crowded
}

// follow makes crowded keys follow each other at a rate (keys a second). If
// that would begin before the floor, the keys that were pushed there are packed
// as densely as they have to be.
func (b *board) follow(crowded []bool, rate float64) {
	const rounding = 1e-6 // of a ms: sums of steps never fall short of a second
	step := 1000/rate + rounding
	runs := b.layOut(crowded, step)
	if b.p.AllowLonger {
		b.bothWays(runs, step)
		return
	}
	if len(runs) > 0 {
		b.packBehind(runs[len(runs)-1], step, float64(b.p.Floor.UnixMilli()))
	}
}

// packBehind packs a run, more densely than by step if it would begin before
// a time.
func (b *board) packBehind(r run, step, floor float64) {
	if b.pack(r, step) >= floor {
		return
	}
	low, high := 0.0, step
	for range 40 {
		if mid := (low + high) / 2; b.pack(r, mid) >= floor {
			low = mid
		} else {
			high = mid
		}
	}
	b.pack(r, low)
}

// A run is the keys[from:to] that follow each other. The last of them stays.
type run struct{ from, to int }

// layOut puts all keys at their old expiries, and then those that are crowded
// in runs, with the keys that stand where they are to go. It returns the runs,
// the last first.
func (b *board) layOut(crowded []bool, step float64) []run {
	for k := range b.keys {
		b.now[k] = b.keys[k].at
	}
	var runs []run
	for k := len(b.keys) - 1; k >= 0 && !b.tooLate(k); k-- {
		if !crowded[k] {
			continue
		}
		r := run{from: k, to: k + 1}
		at := float64(b.keys[k].at)
		for i := k - 1; i >= 0 && !b.tooLate(i) && (crowded[i] || float64(b.keys[i].at) > at-step); i-- {
			at = min(at-step, float64(b.keys[i].at))
			r.from = i
		}
		b.pack(r, step)
		runs = append(runs, r)
		k = r.from
	}
	return runs
}

// pack lays the keys of a run out as late as may be: from the last to the
// first, a key dies at its own expiry or one step before the next key. It
// returns the first expiry.
func (b *board) pack(r run, step float64) float64 {
	at := float64(b.keys[r.to-1].at)
	for k := r.to - 2; k >= r.from; k-- {
		at = min(at-step, float64(b.keys[k].at))
		b.now[k] = int64(at)
	}
	return at
}

// bothWays lets half of the keys die earlier and half later. Both the latest
// arrangement that shortens, which is there, and the earliest that lengthens
// keep the step, and so does their mean.
func (b *board) bothWays(runs []run, step float64) {
	later, at := 0.0, float64(b.p.Floor.UnixMilli())
	for _, r := range slices.Backward(runs) {
		for k := r.from; k < r.to; k++ {
			later = max(later+step, float64(b.keys[k].at))
			at = max(at, (later+float64(b.now[k]))/2)
			b.now[k] = int64(at)
			at += step
		}
	}
}

// keep takes the arrangement over as the best so far.
func (b *board) keep(l Load) {
	b.p.After = l
	copy(b.best, b.now)
}

// commit makes the best arrangement the plan.
func (b *board) commit() {
	p := b.p
	var sum int64
	for k := range b.keys {
		old, at := b.keys[k].at, b.best[k]
		if old == at {
			continue
		}
		earlier := time.Duration(old-at) * time.Millisecond
		p.EarlierMost, p.LaterMost = max(p.EarlierMost, earlier), max(p.LaterMost, -earlier)
		sum += old - at
		p.Changes = append(p.Changes, scan.Change{
			KeyRef: scan.KeyRef{Name: b.c.name(&b.keys[k]), DB: int(b.keys[k].db)}, Old: old, New: at,
		})
	}
	if n := int64(len(p.Changes)); n > 0 {
		p.EarlierMean = time.Duration(sum/n) * time.Millisecond
	}
	slices.SortStableFunc(p.Changes, func(x, y scan.Change) int { return cmp.Compare(x.New, y.New) })
	for i, s := range b.span {
		for k := s[0]; k < s[1]; k++ {
			if b.tooLate(k) {
				p.Missed++
			}
		}
		b.describe(&p.Teeth[i], s)
	}
}

// describe says where the keys of a tooth go in the arrangement kept.
func (b *board) describe(t *Tooth, s [2]int) {
	first, last := int64(0), int64(0)
	for k := s[0]; k < s[1]; k++ {
		if b.best[k] == b.keys[k].at {
			continue
		}
		if t.Move == 0 {
			first, last = b.best[k], b.best[k]
		}
		t.Move++
		first, last = min(first, b.best[k]), max(last, b.best[k])
	}
	if t.Move > 0 {
		t.From, t.To = time.UnixMilli(first), time.UnixMilli(last)
	}
}

// load is how the keys expire in the present arrangement.
func (b *board) load() Load {
	b.work = append(b.work[:0], b.now...)
	slices.Sort(b.work)
	return loadOf(b.work, b.p.Now.UnixMilli())
}

// loadOf counts expiries, which are in order, in windows of one second that
// begin at any of them: seconds of the clock would cut a tooth in two.
func loadOf(at []int64, now int64) Load {
	var l Load
	end := 0
	for i, t := range at {
		for end < len(at) && at[end] < t+1000 {
			end++
		}
		n := uint64(end - i)
		if n > l.Busiest {
			l.Busiest, l.At = n, time.UnixMilli(t)
		}
		if t < now {
			continue
		}
		second := now + (t-now)/1000*1000
		if k := len(l.Seconds); k > 0 && l.Seconds[k-1].At == second {
			l.Seconds[k-1].Keys = max(l.Seconds[k-1].Keys, n)
		} else {
			l.Seconds = append(l.Seconds, Second{second, n})
		}
	}
	return l
}

// allKeys is the load of the whole cache as it is.
func (p *Plan) allKeys(a *ttlhist.Analysis) Load {
	return Load{Busiest: a.Total.Busiest, At: a.Total.BusiestAt}
}

// allAfter is the load of the whole cache with the changes made: its histogram
// less the old expiries, plus the new ones.
func (p *Plan) allAfter(a *ttlhist.Analysis) Load {
	width := max(a.Total.Bin.Milliseconds(), 1)
	bins := make(map[int64]int64, len(a.Total.Expiries())+len(p.Changes))
	for _, b := range a.Total.Expiries() {
		bins[b.At] += int64(b.Count)
	}
	for _, c := range p.Changes {
		bins[c.Old-c.Old%width]--
		bins[c.New-c.New%width]++
	}
	seconds := make([]Second, 0, len(bins))
	for at, n := range bins {
		if n > 0 {
			seconds = append(seconds, Second{at, uint64(n)})
		}
	}
	slices.SortFunc(seconds, compareSeconds)
	var l Load
	var sum uint64
	end := 0
	for _, s := range seconds {
		for end < len(seconds) && seconds[end].At < s.At+1000 {
			sum += seconds[end].Keys
			end++
		}
		if sum > l.Busiest {
			l.Busiest, l.At = sum, time.UnixMilli(s.At)
		}
		sum -= s.Keys
	}
	if seconds := a.Total.Bin.Seconds(); seconds > 1 {
		l.Busiest = uint64(float64(l.Busiest)/seconds + 0.5)
	}
	return l
}
