package comb

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

// FineBin is the bin for time stamps finer than one second.
const FineBin = 125 * time.Millisecond

// Bin is one non-empty bin of a Series.
type Bin struct {
	At int64  // start of the bin, Unix nanoseconds
	N  uint64 // events in it, at least 1; saturates
}

// cell is a bin by its index, floor(time / width).
type cell struct {
	x int64
	n uint64
}

// Series counts events in bins of one width. It stores non-empty bins only.
// Series are commutative monoids under Merge. A Series is not safe for
// concurrent use, except for concurrent Detect calls after a call of Total.
type Series struct {
	bin   int64  // nanoseconds
	cells []cell // sorted by x, unique
	late  []cell // added out of order, folded in when longer than cells
	hit   int    // cell of the last Add, where the next one most likely falls
}

// NewSeries returns an empty series: bin is one second for stamps of whole
// seconds, FineBin for finer ones. A bin below 1 ns counts as one second.
func NewSeries(bin time.Duration) *Series {
	if bin <= 0 {
		bin = time.Second
	}
	return &Series{bin: int64(bin)}
}

// Reset empties the series and gives it a bin as NewSeries does. It keeps the memory.
func (s *Series) Reset(bin time.Duration) {
	cells := s.cells[:0]
	*s = *NewSeries(bin)
	s.cells = cells
}

// Grow makes room for n more bins, so that Add needn't.
func (s *Series) Grow(n int) { s.cells = slices.Grow(s.cells, n) }

// BinWidth returns the width of a bin.
func (s *Series) BinWidth() time.Duration { return time.Duration(s.bin) }

// Add counts n events at a time in Unix nanoseconds. Times may come in any
// order; times in order cost O(1), others O(log) amortised.
func (s *Series) Add(unixNano int64, n uint64) { s.AddBin(floorDiv(unixNano, s.bin), n) }

// AddBin counts n events in bin x, which is floor(Unix nanoseconds / width).
func (s *Series) AddBin(x int64, n uint64) {
	if n == 0 {
		return
	}
	if s.hit < len(s.cells) && s.cells[s.hit].x == x {
		s.cells[s.hit].n = addSat(s.cells[s.hit].n, n)
		return
	}
	if k := len(s.cells); k == 0 || x > s.cells[k-1].x {
		s.cells = append(s.cells, cell{x, n})
		s.hit = k
		return
	}
	if i, ok := findCell(s.cells, x); ok {
		s.cells[i].n = addSat(s.cells[i].n, n)
		s.hit = i
		return
	}
	s.late = append(s.late, cell{x, n})
	if len(s.late) > len(s.cells)+64 {
		s.settle()
	}
}

// settle folds late cells into the sorted ones.
func (s *Series) settle() {
	if len(s.late) == 0 {
		return
	}
	slices.SortFunc(s.late, compareCells)
	s.cells = mergeCells(s.cells, joined(s.late))
	s.late = nil
	s.hit = len(s.cells) - 1
}

// joined adds up the equal bins of sorted cells, in place.
func joined(cells []cell) []cell {
	out := cells[:0]
	for _, c := range cells {
		if k := len(out) - 1; k >= 0 && out[k].x == c.x {
			out[k].n = addSat(out[k].n, c.n)
			continue
		}
		out = append(out, c)
	}
	return out
}

// Merge adds the counts of o, which is left as it is. It fails when the bins differ.
func (s *Series) Merge(o *Series) error {
	if s.bin != o.bin {
		return fmt.Errorf("comb: can't merge bins of %v and %v", s.BinWidth(), o.BinWidth())
	}
	s.settle()
	o.settle()
	s.cells = mergeCells(s.cells, o.cells)
	s.hit = max(len(s.cells)-1, 0)
	return nil
}

// Total returns the number of events.
func (s *Series) Total() uint64 {
	s.settle()
	var sum uint64
	for _, c := range s.cells {
		sum = addSat(sum, c.n)
	}
	return sum
}

// Peak returns the busiest second: its start in Unix nanoseconds and its
// events. With bins wider than a second it is the busiest bin. The earliest
// one wins a tie; an empty series gives 0, 0.
func (s *Series) Peak() (at int64, n uint64) {
	s.settle()
	i, best, ok := busiestSecond(s.cells, s.bin)
	if !ok {
		return 0, 0
	}
	return s.start(s.cells[i].x), best
}

// busiestSecond returns the first cell of the busiest run of cells that fits into a second.
func busiestSecond(cells []cell, bin int64) (first int, n uint64, ok bool) {
	per := uint64(max(int64(time.Second)/bin, 1))
	var sum uint64
	j := 0
	for _, c := range cells {
		sum = addSat(sum, c.n)
		for uint64(c.x)-uint64(cells[j].x) >= per {
			sum -= cells[j].n
			j++
		}
		if sum > n {
			first, n, ok = j, sum, true
		}
	}
	return first, n, ok
}

// Span returns the start of the first and of the last non-empty bin in Unix
// nanoseconds, or 0, 0 when the series is empty.
func (s *Series) Span() (first, last int64) {
	s.settle()
	if len(s.cells) == 0 {
		return 0, 0
	}
	return s.start(s.cells[0].x), s.start(s.cells[len(s.cells)-1].x)
}

// Bins yields the non-empty bins in time order.
func (s *Series) Bins() iter.Seq[Bin] {
	s.settle()
	return func(yield func(Bin) bool) {
		for _, c := range s.cells {
			if !yield(Bin{At: s.start(c.x), N: c.n}) {
				return
			}
		}
	}
}

// Len returns the number of non-empty bins.
func (s *Series) Len() int {
	s.settle()
	return len(s.cells)
}

// start returns the start of bin x in Unix nanoseconds; the first bin of all time begins before the first int64.
func (s *Series) start(x int64) int64 {
	if x < 0 && x < math.MinInt64/s.bin {
		return math.MinInt64
	}
	return x * s.bin
}

// MarshalBinary encodes the series as version, bin, number of cells, and for
// each cell the step from the one before and its count, all as varints.
// Equal series give equal bytes. It is also the form that gob uses.
func (s *Series) MarshalBinary() ([]byte, error) {
	s.settle()
	b := []byte{seriesVersion}
	b = binary.AppendUvarint(b, uint64(s.bin))
	b = binary.AppendUvarint(b, uint64(len(s.cells)))
	var last int64
	for _, c := range s.cells {
		b = binary.AppendVarint(b, c.x-last) // wraps around and back
		b = binary.AppendUvarint(b, c.n)
		last = c.x
	}
	return b, nil
}

const seriesVersion = 1

var errSeries = errors.New("comb: malformed series")

// UnmarshalBinary replaces the series by an encoded one. Malformed input gives an error, never a panic.
func (s *Series) UnmarshalBinary(b []byte) error {
	r := bytes.NewReader(b)
	if v, err := r.ReadByte(); err != nil || v != seriesVersion {
		return errSeries
	}
	bin, err := binary.ReadUvarint(r)
	if err != nil || bin == 0 || bin > math.MaxInt64 {
		return errSeries
	}
	k, err := binary.ReadUvarint(r)
	if err != nil || k > uint64(r.Len())/2 { // a cell takes at least two bytes
		return errSeries
	}
	cells := make([]cell, k)
	var last int64
	for i := range cells {
		d, err := binary.ReadVarint(r)
		if err != nil {
			return errSeries
		}
		n, err := binary.ReadUvarint(r)
		if err != nil || n == 0 {
			return errSeries
		}
		x := last + d
		if i > 0 && x <= last || floorDiv(math.MinInt64, int64(bin)) > x || x > math.MaxInt64/int64(bin) {
			return errSeries
		}
		cells[i], last = cell{x, n}, x
	}
	if r.Len() > 0 {
		return errSeries
	}
	*s = Series{bin: int64(bin), cells: cells}
	return nil
}

// MarshalJSON writes the binary form as a base64 string.
func (s *Series) MarshalJSON() ([]byte, error) {
	b, err := s.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return json.Marshal(b)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Series) UnmarshalJSON(b []byte) error {
	var raw []byte
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	return s.UnmarshalBinary(raw)
}

func compareCells(a, b cell) int {
	switch {
	case a.x < b.x:
		return -1
	case a.x > b.x:
		return 1
	}
	return 0
}

func findCell(cells []cell, x int64) (int, bool) {
	return slices.BinarySearchFunc(cells, x, func(c cell, x int64) int { return compareCells(c, cell{x: x}) })
}

// mergeCells merges two sorted slices, adding the counts of equal bins, into a new one.
func mergeCells(a, b []cell) []cell {
	out := make([]cell, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].x < b[0].x:
			out, a = append(out, a[0]), a[1:]
		case a[0].x > b[0].x:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, cell{a[0].x, addSat(a[0].n, b[0].n)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func addSat(a, b uint64) uint64 {
	if s := a + b; s >= a {
		return s
	}
	return math.MaxUint64
}
