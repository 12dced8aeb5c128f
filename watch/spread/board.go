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
	wide := row.Bin.Milliseconds() - 1 // a tooth ends with its last bin, wherever in it
	for _, t := range row.Teeth {
		if t.To.Before(b.p.Now) {
			continue
		}
		from, _ := slices.BinarySearchFunc(b.keys, t.From.UnixMilli(), byExpiry)
		to, _ := slices.BinarySearchFunc(b.keys, t.To.UnixMilli()+wide+1, byExpiry)
		if from == to {
			continue
		}
		b.p.Teeth = append(b.p.Teeth, Tooth{Tooth: t})
		b.span = append(b.span, [2]int{from, to})
	}
	if len(b.p.Teeth) == 0 {
		return "no herd: its keys do not expire together"
	}
	return ""
}

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

// forJitter lays each tooth out evenly in a window that begins as much before
// its first key as the jitter allows and, where keys may live longer, ends as
// much after its last. Keys keep their order. None gets an expiry before the
// floor nor, unless it may live longer, after its own.
func (b *board) forJitter() {
	p := b.p
	reach := int64(p.Jitter * float64(p.TTL.Milliseconds()))
	for i, s := range b.span {
		from := max(p.Teeth[i].Tooth.From.UnixMilli()-reach, p.Floor.UnixMilli())
		to := b.keys[s[1]-1].at
		if p.AllowLonger {
			to += reach
		}
		n := float64(s[1] - s[0])
		for k := s[0]; k < s[1]; k++ {
			at := from + int64(float64(to-from)*(float64(k-s[0])+0.5)/n)
			if p.AllowLonger || at < b.keys[k].at {
				b.now[k] = at
			}
			if b.tooLate(k) {
				b.now[k] = b.keys[k].at
			}
		}
	}
}

// tooLate tells of a key that dies before anything can be done.
func (b *board) tooLate(k int) bool { return b.keys[k].at <= b.p.Floor.UnixMilli() }

// forTarget finds the smallest spread: the highest rate at which the keys of
// the teeth may follow each other so that no second has more than the target.
// It is below the target only as far as other keys of the pattern die in
// between. Teeth that are no higher than the target stay.
func (b *board) forTarget() {
	move := b.moving()
	low, high, rate := 0.0, b.p.Target, b.p.Target
	const tries = 16
	for range tries {
		b.follow(move, rate)
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

// moving lists the keys of the teeth that are higher than the target, in order
// of expiry.
func (b *board) moving() []int {
	var move []int
	for i, s := range b.span {
		if float64(b.p.Teeth[i].Busiest) <= b.p.Target {
			continue
		}
		for k := s[0]; k < s[1]; k++ {
			if !b.tooLate(k) {
				move = append(move, k)
			}
		}
	}
	return move
}

// follow makes the keys follow each other at a rate (keys a second). Each
// lives as long as it can: from the last to the first, a key dies at its own
// expiry or one step before the next key. If that would begin before the
// floor, the keys that had to make room are packed more densely.
func (b *board) follow(move []int, rate float64) {
	step := 1000 / rate
	if b.p.AllowLonger {
		b.followBothWays(move, step)
		return
	}
	floor := float64(b.p.Floor.UnixMilli())
	if len(move) == 0 || b.backward(move, step) >= floor {
		return
	}
	crowd := move[:b.pushed(move)]
	low, high := 0.0, step // of the step, which is too long
	for range 40 {
		if mid := (low + high) / 2; b.backward(crowd, mid) >= floor {
			low = mid
		} else {
			high = mid
		}
	}
	b.backward(crowd, low)
}

// backward lays the keys out with at least step ms between them, as late as
// may be, and returns the earliest expiry.
func (b *board) backward(move []int, step float64) float64 {
	at := float64(1 << 62)
	for i := len(move) - 1; i >= 0; i-- {
		k := move[i]
		at = min(at-step, float64(b.keys[k].at))
		b.now[k] = int64(at)
	}
	return at
}

// pushed is the number of keys, from the first on, that make room for each
// other: up to the first that stays where it was.
func (b *board) pushed(move []int) int {
	for i, k := range move {
		if b.now[k] == b.keys[k].at {
			return i + 1
		}
	}
	return len(move)
}

// followBothWays lets half of the keys die earlier and half later. Both the
// latest arrangement that shortens and the earliest that lengthens keep the
// step, and so does their mean.
func (b *board) followBothWays(move []int, step float64) {
	b.backward(move, step)
	later := 0.0
	at := float64(b.p.Floor.UnixMilli())
	for _, k := range move {
		later = max(later+step, float64(b.keys[k].at))
		at = max(at, (later+float64(b.now[k]))/2)
		b.now[k] = int64(at)
		at += step
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
