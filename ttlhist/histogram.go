package ttlhist

import (
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// binWidths is the ladder of a histogram's bin widths in milliseconds. Each
// is a multiple of the one before, so that bins can be joined exactly.
var binWidths = [...]int64{1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000, 8_640_000_000, 864_000_000_000}

// secondLevel is the ladder's step of one second.
const secondLevel = 3

// A histogram counts times in sparse bins. It starts with the finest bins and
// goes up the ladder when it has more bins than it may: so its width depends
// on the set of times alone.
type histogram struct {
	level int
	n     uint64           // all times counted
	bins  map[int64]uint64 // by bin number: time / width, rounded down
}

// add counts n times at ms.
func (h *histogram) add(ms int64, n uint64) {
	if h.bins == nil {
		h.bins = make(map[int64]uint64)
	}
	h.bins[floorDiv(ms, binWidths[h.level])] += n
	h.n += n
}

// fit joins bins until there are at most limit of them.
func (h *histogram) fit(limit int) {
	for len(h.bins) > limit && h.level < len(binWidths)-1 {
		h.raise(h.level + 1)
	}
}

// raise joins bins up to a level of the ladder.
func (h *histogram) raise(level int) {
	if level <= h.level {
		return
	}
	ratio := binWidths[level] / binWidths[h.level]
	joined := make(map[int64]uint64)
	for bin, n := range h.bins {
		joined[floorDiv(bin, ratio)] += n
	}
	h.level, h.bins = level, joined
}

// merge adds the times of other, which it leaves alone.
func (h *histogram) merge(other *histogram) {
	if other.n == 0 {
		return
	}
	h.raise(other.level)
	width := binWidths[other.level]
	for bin, n := range other.bins {
		h.add(bin*width, n)
	}
}

// width returns the width of the bins.
func (h *histogram) width() time.Duration {
	return time.Duration(binWidths[h.level]) * time.Millisecond
}

// sorted returns the bins in order of time.
func (h *histogram) sorted() []comb.ExpiryBin {
	width := binWidths[h.level]
	bins := make([]comb.ExpiryBin, 0, len(h.bins))
	for bin, n := range h.bins {
		bins = append(bins, comb.ExpiryBin{At: bin * width, Count: n})
	}
	slices.SortFunc(bins, func(a, b comb.ExpiryBin) int { return int(max(-1, min(1, a.At-b.At))) })
	return bins
}

// floorDiv divides and rounds down, also below zero.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
