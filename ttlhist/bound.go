package ttlhist

import "github.com/cespare/xxhash/v2"

// A binBound bounds the bins of all histograms together. A group with n keys
// and at most limit bins has at most min(n, limit) of them; limit falls when
// the sum of that over the patterns is above maxBins. Patterns are counted in
// cells by hash before any folding: the sum then only grows with the set of
// keys, and the limit is the same in any order.
type binBound struct {
	cells []uint64 // keys with a TTL, by hash of their pattern
	steps int      // times that the limit was halved
	mass  uint64   // sum over cells of min(keys, limit)
}

const (
	cellCount   = 1 << 14
	maxBins     = 1_500_000
	firstLimit  = 1 << 17
	lowestLimit = 1
)

func (b *binBound) limit() int { return firstLimit >> b.steps }

// count counts one key of a pattern. It returns true if the limit fell.
func (b *binBound) count(pattern []byte) bool {
	if b.cells == nil {
		b.cells = make([]uint64, cellCount)
	}
	cell := &b.cells[xxhash.Sum64(pattern)%cellCount]
	*cell++
	if *cell <= uint64(b.limit()) {
		b.mass++
	}
	return b.lower()
}

// lower halves the limit as often as need be.
func (b *binBound) lower() bool {
	fell := false
	for b.mass > maxBins && b.limit() > lowestLimit {
		b.steps++
		b.weigh()
		fell = true
	}
	return fell
}

func (b *binBound) weigh() {
	b.mass = 0
	for _, n := range b.cells {
		b.mass += min(n, uint64(b.limit()))
	}
}

func (b *binBound) merge(other *binBound) {
	if other.cells == nil {
		return
	}
	if b.cells == nil {
		b.cells = make([]uint64, cellCount)
	}
	for i, n := range other.cells {
		b.cells[i] += n
	}
	b.steps = max(b.steps, other.steps)
	b.weigh()
	b.lower()
}
