package ttlhist

import (
	"time"

	"github.com/herdscan/herdscan/comb"
)

// baseTTL returns the best evidence for the time to live of a group: what the
// cache itself knows, then remaining plus idle times, the spacing of teeth,
// and the shape of the remaining times.
func baseTTL(g *Group, fit comb.BaseFit) BaseTTL {
	b := BaseTTL{AtLeast: max(g.MaxLeft, 0)}
	b.Next = comb.NextHuman(b.AtLeast)
	if g.row != nil {
		if ttl, jitter, known := originalTTL(&g.row.originals); known {
			if ttl > 0 {
				b.TTL, b.Jitter, b.From = ttl, jitter, Original
			}
			return b
		}
		if ttl, ok := pile(&g.row.lives); ok && ttl >= b.AtLeast-time.Second {
			b.TTL, b.From = ttl, LeftPlusIdle
			return b
		}
	}
	if ttl, ok := ttlBySpacing(g); ok {
		b.TTL, b.From = ttl, SpacingOfTeeth
		return b
	}
	if fit.TTL > 0 && fit.TTL+fit.TTL/50 >= b.AtLeast-time.Duration(fit.Jitter.Fraction*float64(fit.TTL)) {
		b.TTL, b.Jitter, b.From = fit.TTL, fit.Jitter, LikelihoodFit
		if fit.Edge {
			b.From = LongestLeft
		}
	}
	return b
}

// originalTTL returns the TTL that the known original ones speak for, and
// their jitter. They are good to about a second. The TTL is 0 if they are known
// but too different to be one TTL with a jitter.
func originalTTL(h *histogram) (ttl time.Duration, j comb.Jitter, known bool) {
	const fewest, widest = 3, 1.0 // known ones, and the share of the TTL by which a jitter may spread it
	if h.n < fewest {
		return 0, j, false
	}
	bins := h.sorted()
	lo, hi := bins[0].At, bins[len(bins)-1].At
	least, middle := time.Duration(lo)*time.Millisecond, time.Duration(lo+hi)/2*time.Millisecond
	spread := time.Duration(hi-lo) * time.Millisecond
	if spread.Seconds() > widest*middle.Seconds() {
		return usualOriginal(bins, h.n), j, true
	}
	switch narrow := spread <= 2*time.Second; {
	case !narrow && !isHuman(middle) && isHuman(least): // a random part is only ever added
		ttl = snap(least)
		return ttl, comb.Jitter{Fraction: spread.Seconds() / ttl.Seconds(), OneSided: true}, true
	case narrow || spread <= middle/50:
		most := bins[0]
		for _, b := range bins {
			if b.Count > most.Count {
				most = b
			}
		}
		return snap(time.Duration(most.At) * time.Millisecond), j, true
	}
	ttl = snap(middle)
	return ttl, comb.Jitter{Fraction: spread.Seconds() / 2 / ttl.Seconds()}, true
}

// usualOriginal returns the original TTL that nearly all keys have, to a
// second, or 0 if there is none.
func usualOriginal(bins []comb.ExpiryBin, n uint64) time.Duration {
	const nearlyAll, near = 0.9, 1000
	for i := range bins {
		var sum uint64
		most := bins[i]
		for _, b := range bins[i:] {
			if b.At > bins[i].At+near {
				break
			}
			if sum += b.Count; b.Count > most.Count {
				most = b
			}
		}
		if float64(sum) >= nearlyAll*float64(n) {
			return snap(time.Duration(most.At) * time.Millisecond)
		}
	}
	return 0
}

// isHuman tells whether a person may have written d.
func isHuman(d time.Duration) bool {
	_, ok := human(d)
	return ok
}

// human returns the duration that a person wrote if d is nearly it.
func human(d time.Duration) (time.Duration, bool) {
	nearest, off := comb.NearestHuman(d)
	off = off.Abs()
	return nearest, off <= 2*time.Second && off <= nearest/20
}

// snap returns the duration that a person wrote if d is nearly it, else d.
func snap(d time.Duration) time.Duration {
	if written, ok := human(d); ok {
		return written
	}
	return d
}

// pile returns the longest remaining plus idle time if many keys have it: that
// of keys that nobody read since they were written.
func pile(h *histogram) (time.Duration, bool) {
	const (
		fewest = 5
		share  = 0.3
		depth  = 2 * time.Second
	)
	if h.n < fewest || h.level > secondLevel {
		return 0, false
	}
	bins := h.sorted()
	top := time.Duration(bins[len(bins)-1].At) * time.Millisecond
	var n uint64
	for _, b := range bins {
		if time.Duration(b.At)*time.Millisecond >= top-depth {
			n += b.Count
		}
	}
	if n < fewest || float64(n) < share*float64(h.n) {
		return 0, false
	}
	return snap(top), true
}

// ttlBySpacing returns the one usual TTL from the newest tooth up to one
// spacing later: had the keys a longer one, there would be one more tooth.
func ttlBySpacing(g *Group) (time.Duration, bool) {
	if g.Spacing == 0 || g.Spacing > g.MaxLeft/2 || !g.Teeth[len(g.Teeth)-1].Newest {
		return 0, false
	}
	ttl := comb.NextHuman(g.MaxLeft - g.MaxLeft/1000)
	if ttl == 0 || ttl >= g.MaxLeft+g.Spacing {
		return 0, false
	}
	if next := comb.NextHuman(ttl + time.Millisecond); next < g.MaxLeft+g.Spacing {
		return 0, false
	}
	return ttl, true
}
