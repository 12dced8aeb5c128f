package querylog

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// weights says of the statements of one class, over time, how many others they
// stand for that a sampled log left out. A statement of which one of w was
// logged weighs w; those that weigh 1 are not kept, so a log that was not
// sampled has no weights. Of a bin, the number of all its statements is in the
// cells of the class. It is a commutative monoid: the bins are as narrow as
// their number allows, whatever the order.
type weights struct {
	width int64 // of a bin, ns: narrowWeights times a power of two, 0 for none yet
	bins  map[int64]weight
}

// weight sums one bin.
type weight struct {
	n      uint64 // statements that weigh more than 1
	extra  uint64 // sum of w-1: statements that were not logged
	spread uint64 // sum of w(w-1): variance of that estimate
}

const (
	narrowWeights = int64(time.Minute)
	maxWeights    = 64      // bins a class
	maxWeight     = 1 << 20 // a higher rate is no rate
)

// add counts a statement of which one of rate was logged.
func (w *weights) add(t int64, rate uint64) {
	if w.bins == nil {
		w.width, w.bins = narrowWeights, map[int64]weight{}
	}
	w.put(t/w.width, weight{1, rate - 1, rate * (rate - 1)})
	w.bound()
}

func (w *weights) put(bin int64, x weight) {
	b := w.bins[bin]
	w.bins[bin] = weight{b.n + x.n, b.extra + x.extra, b.spread + x.spread}
}

// bound makes the bins wider until they are few enough.
func (w *weights) bound() {
	for len(w.bins) > maxWeights {
		w.widen(2 * w.width)
	}
}

func (w *weights) widen(width int64) {
	old, by := w.bins, width/w.width
	w.width, w.bins = width, make(map[int64]weight, len(old))
	for bin, x := range old {
		w.put(bin/by, x)
	}
}

func (w *weights) merge(o *weights) {
	switch {
	case len(o.bins) == 0:
		return
	case w.bins == nil:
		w.width, w.bins = o.width, map[int64]weight{}
	case w.width < o.width:
		w.widen(o.width)
	}
	for bin, x := range o.bins {
		w.put(bin*o.width/w.width, x)
	}
	w.bound()
}

// savedWeight is one bin in a saved Summary.
type savedWeight struct {
	Bin    int64  `json:"bin"`
	N      uint64 `json:"n"`
	Extra  uint64 `json:"extra"`
	Spread uint64 `json:"spread"`
}

// saved lists the bins in order.
func (w *weights) saved() (list []savedWeight) {
	for bin, x := range w.bins {
		list = append(list, savedWeight{bin, x.n, x.extra, x.spread})
	}
	slices.SortFunc(list, func(a, b savedWeight) int { return cmp.Compare(a.Bin, b.Bin) })
	return list
}

// loadWeights checks what a saved Summary holds; ok is false for what add never makes.
func loadWeights(width time.Duration, list []savedWeight) (w weights, ok bool) {
	if len(list) == 0 {
		return w, width == 0
	}
	if len(list) > maxWeights || int64(width) < narrowWeights || int64(width) > maxTime || int64(width)%narrowWeights != 0 || bits.OnesCount64(uint64(int64(width)/narrowWeights)) != 1 {
		return w, false
	}
	w.width, w.bins = int64(width), make(map[int64]weight, len(list))
	for _, x := range list {
		if x.Bin < 0 || x.Bin > maxTime/w.width || x.N == 0 || x.Extra < x.N || x.Extra/maxWeight > x.N || x.Spread/maxWeight > x.Extra {
			return w, false
		}
		w.bins[x.Bin] = weight{x.N, x.Extra, x.Spread}
	}
	return w, len(w.bins) == len(list)
}
