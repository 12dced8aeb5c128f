package schedule

import "math/bits"

const (
	minutesPerDay = 24 * 60
	minuteWords   = (minutesPerDay + 63) / 64
	dayWords      = (366 + 63) / 64
)

// Minutes is a set of minutes of one day, 0 (midnight) to 1439.
type Minutes [minuteWords]uint64

// Has reports whether minute m, 0 to 1439, is in the set.
func (s *Minutes) Has(m int) bool { return s[m>>6]&(1<<(m&63)) != 0 }

// Add puts minute m, 0 to 1439, into the set.
func (s *Minutes) Add(m int) { s[m>>6] |= 1 << (m & 63) }

// Count is the number of minutes in the set.
func (s *Minutes) Count() int { return countBits(s[:]) }

// Next returns the least minute of the set that is at least m, or -1.
func (s *Minutes) Next(m int) int { return nextBit(s[:], m) }

// And returns the minutes that are in both sets.
func (s *Minutes) And(o *Minutes) (both Minutes) {
	for i := range s {
		both[i] = s[i] & o[i]
	}
	return both
}

// Days is a set of days of one year, 0 (1 January) to 365.
type Days [dayWords]uint64

// Has reports whether day d, 0 to 365, is in the set.
func (s *Days) Has(d int) bool { return s[d>>6]&(1<<(d&63)) != 0 }

// Add puts day d, 0 to 365, into the set.
func (s *Days) Add(d int) { s[d>>6] |= 1 << (d & 63) }

// addRange puts the days from lo to before hi, at most 63, into the set.
func (s *Days) addRange(lo, hi int) {
	run := uint64(1)<<(hi-lo) - 1
	s[lo>>6] |= run << (lo & 63)
	if rest := run >> (64 - lo&63); lo>>6+1 < len(s) {
		s[lo>>6+1] |= rest
	}
}

// Count is the number of days in the set.
func (s *Days) Count() int { return countBits(s[:]) }

// Next returns the least day of the set that is at least d, or -1.
func (s *Days) Next(d int) int { return nextBit(s[:], d) }

// And returns the days that are in both sets.
func (s *Days) And(o *Days) (both Days) {
	for i := range s {
		both[i] = s[i] & o[i]
	}
	return both
}

// Or returns the days that are in either set.
func (s *Days) Or(o *Days) (either Days) {
	for i := range s {
		either[i] = s[i] | o[i]
	}
	return either
}

func countBits(words []uint64) (n int) {
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}

func nextBit(words []uint64, from int) int {
	i := from >> 6
	if from < 0 || i >= len(words) {
		return -1
	}
	w := words[i] >> (from & 63) << (from & 63)
	for w == 0 {
		i++
		if i == len(words) {
			return -1
		}
		w = words[i]
	}
	return i<<6 + bits.TrailingZeros64(w)
}
