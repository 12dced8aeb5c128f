package comb

import "time"

// An Absence is a set of things that do not exist and are asked for.
type Absence struct {
	IDs  float64 // different ones, asked for evenly
	Rate float64 // questions per second, over all of them
}

// Cached returns the mean queries per second when the absence of each is
// cached for a time. Ids that are asked for once only are not made fewer.
func (a Absence) Cached(ttl time.Duration) float64 {
	if a.Rate <= 0 || a.IDs <= 0 {
		return 0
	}
	return a.IDs / (ttl.Seconds() + a.IDs/a.Rate)
}
