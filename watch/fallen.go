package watch

import (
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/ttlhist"
)

// fallen counts the keys whose deadline has passed, by the last look before
// it: the server's own counters and events tell when it deletes keys, which is
// seconds to minutes later.
type fallen struct {
	sum uint64 // up to settled
	at  time.Time
}

// settle adds what passed under a look that is replaced now.
func (f *fallen) settle(l Look, now time.Time) {
	f.sum += f.between(l, f.at, now)
	f.at = now
}

// until is the sum up to now.
func (f *fallen) until(l Look, now time.Time) uint64 {
	return f.sum + f.between(l, f.at, now)
}

// between counts the deadlines of a look from one time to another, scaled to
// all keys.
func (f *fallen) between(l Look, from, to time.Time) uint64 {
	if l.Analysis == nil {
		return 0
	}
	if from.Before(l.At) {
		from = l.At
	}
	lo, hi := from.Add(l.Offset).UnixMilli(), to.Add(l.Offset).UnixMilli()
	var n uint64
	for i := range l.Analysis.Groups {
		n += deadlines(&l.Analysis.Groups[i], lo, hi)
	}
	if s := l.Analysis.Sampled; s > 0 && s < 1 {
		return uint64(math.Round(float64(n) / s))
	}
	return n
}

// deadlines counts those of a group after from and up to to, in Unix ms by the
// server's clock.
func deadlines(g *ttlhist.Group, from, to int64) (n uint64) {
	bins := g.Expiries()
	at, _ := slices.BinarySearchFunc(bins, from, func(b comb.ExpiryBin, t int64) int {
		if b.At <= t {
			return -1
		}
		return 1
	})
	for ; at < len(bins) && bins[at].At <= to; at++ {
		n += bins[at].Count
	}
	return n
}
