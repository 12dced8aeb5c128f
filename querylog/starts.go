package querylog

import (
	"time"

	"github.com/herdscan/herdscan/comb"
)

// Starts counts, second by second, when the statements of some classes
// started; without any, those of all classes that are no followers.
func (s *Summary) Starts(hashes ...uint64) *comb.Series {
	var list []*class
	for _, h := range hashes {
		if c := s.classes[h]; c != nil {
			list = append(list, c)
		}
	}
	if len(hashes) == 0 {
		for _, c := range s.classes {
			if !c.follower {
				list = append(list, c)
			}
		}
	}
	out := comb.NewSeries(time.Second)
	for _, x := range seconds(list, s.level) {
		out.Add(x.at, x.n)
	}
	return out
}
