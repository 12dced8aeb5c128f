package ttlhist

import (
	"cmp"
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
// on the set of times alone, once it is settled.
type histogram struct {
	level int
	n     uint64 // all times counted
	// bins are in order of time, each once; an Analysis may have them too, and
	// then they are not changed but replaced.
	bins   []comb.ExpiryBin
	shared bool
	late   []comb.ExpiryBin // counted since, in any order
}

const (
	fewLate  = 64
	manyLate = 8192
)

// add counts n times at ms.
func (h *histogram) add(ms int64, n uint64) {
	at := roundDown(ms, binWidths[h.level])
	h.n += n
	h.own()
	if k := len(h.bins); len(h.late) == 0 && (k == 0 || at > h.bins[k-1].At) {
		h.bins = append(h.bins, comb.ExpiryBin{At: at, Count: n})
		return
	}
	if i := h.find(at); i >= 0 {
		h.bins[i].Count += n
		return
	}
	h.late = append(h.late, comb.ExpiryBin{At: at, Count: n})
	if len(h.late) >= min(max(len(h.bins)/2, fewLate), manyLate) {
		h.settle()
	}
}

// own makes the bins the histogram's alone.
func (h *histogram) own() {
	if h.shared {
		h.bins, h.late, h.shared = slices.Clone(h.bins), slices.Clone(h.late), false
	}
}

// find returns where a bin is, or -1. It looks only near where it is if hardly
// a bin is missing: a full histogram is found in at once, and one with holes
// costs little.
func (h *histogram) find(at int64) int {
	last := len(h.bins) - 1
	if last < 0 || at < h.bins[0].At || at > h.bins[last].At {
		return -1
	}
	i := 0
	if span := h.bins[last].At - h.bins[0].At; span > 0 {
		i = int(float64(at-h.bins[0].At) / float64(span) * float64(last))
	}
	const reach = 4
	for range reach {
		switch b := h.bins[i].At; {
		case b == at:
			return i
		case b < at && i < last:
			i++
		case b > at && i > 0:
			i--
		}
	}
	return -1
}

// settle puts the late bins into their places.
func (h *histogram) settle() {
	if len(h.late) == 0 {
		return
	}
	h.own()
	slices.SortFunc(h.late, func(a, b comb.ExpiryBin) int { return cmp.Compare(a.At, b.At) })
	late := joined(h.late[:0], h.late, binWidths[h.level])
	fresh, i := 0, 0
	for _, b := range late {
		for i < len(h.bins) && h.bins[i].At < b.At {
			i++
		}
		if i == len(h.bins) || h.bins[i].At != b.At {
			fresh++
		}
	}
	from := len(h.bins) - 1
	h.grow(fresh)
	for to := len(h.bins) - 1; len(late) > 0; to-- { // from the back, so that nothing is overwritten
		b := late[len(late)-1]
		switch {
		case from >= 0 && h.bins[from].At > b.At:
			h.bins[to] = h.bins[from]
			from--
			continue
		case from >= 0 && h.bins[from].At == b.At:
			b.Count += h.bins[from].Count
			from--
		}
		h.bins[to] = b
		late = late[:len(late)-1]
	}
	h.late = h.late[:0]
}

// grow makes the bins longer. Their room grows by an eighth, not twofold: there
// are many histograms, and most of them full.
func (h *histogram) grow(n int) {
	n += len(h.bins)
	if n > cap(h.bins) {
		bins := make([]comb.ExpiryBin, n, n+n/8)
		copy(bins, h.bins)
		h.bins = bins
	}
	h.bins = h.bins[:n]
}

// joined appends to dst the bins, which are in order, at another width.
func joined(dst, bins []comb.ExpiryBin, width int64) []comb.ExpiryBin {
	for _, b := range bins {
		b.At = roundDown(b.At, width)
		if k := len(dst) - 1; k >= 0 && dst[k].At == b.At {
			dst[k].Count += b.Count
			continue
		}
		dst = append(dst, b)
	}
	return dst
}

// fit joins bins until there are at most limit of them, those that are late
// not counted.
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
	h.settle()
	width, n := binWidths[level], 0
	for i, b := range h.bins {
		if i == 0 || roundDown(b.At, width) != roundDown(h.bins[i-1].At, width) {
			n++
		}
	}
	h.bins, h.shared = joined(make([]comb.ExpiryBin, 0, n), h.bins, width), false
	h.level = level
}

// merge adds the times of other, which it leaves alone.
func (h *histogram) merge(other *histogram) {
	if other.n == 0 {
		return
	}
	h.raise(other.level)
	for _, b := range other.bins {
		h.add(b.At, b.Count)
	}
	for _, b := range other.late {
		h.add(b.At, b.Count)
	}
}

// width returns the width of the bins.
func (h *histogram) width() time.Duration {
	return time.Duration(binWidths[h.level]) * time.Millisecond
}

// sorted returns the bins in order of time. They are not to be changed, and
// stay as they are.
func (h *histogram) sorted() []comb.ExpiryBin {
	h.settle()
	h.shared = true
	return h.bins
}

// roundDown returns the start of the bin of a time.
func roundDown(ms, width int64) int64 { return floorDiv(ms, width) * width }

// floorDiv divides and rounds down, also below zero.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
