package querylog

import (
	"time"

	"github.com/herdscan/herdscan/comb"
)

// Starts counts, second by second, when the statements of some classes
// started; without any, those of all classes that are no followers.
func (s *Summary) Starts(hashes ...uint64) *comb.Series {
	out := comb.NewSeries(time.Second)
	add := func(c *class) {
		for _, x := range c.starts.list {
			out.Add(x.at(), x.n())
		}
	}
	for _, h := range hashes {
		if c := s.classes[h]; c != nil {
			add(c)
		}
	}
	if len(hashes) == 0 {
		for _, c := range s.classes {
			if !c.follower {
				add(c)
			}
		}
	}
	return out
}
