package comb

import (
	"math"
	"time"
)

// A ColdCache is an empty cache under traffic: after a flush, a restart, or a
// deploy that changed the keys.
type ColdCache struct {
	Keys      float64       // that are read, evenly
	Reads     float64       // per second, over all keys
	Rebuild   time.Duration // time to compute one value
	Processes int           // that read; 0: unknown
}

// Unprotected returns the expected queries of the first second if each reader
// that misses computes the value.
func (c ColdCache) Unprotected() float64 {
	return c.firstSecond(func(window float64) float64 { return c.perKey() * window })
}

// Coalesced returns them for single flight within each process. Without the
// number of processes it is what nothing would change.
func (c ColdCache) Coalesced() float64 {
	if c.Processes <= 0 {
		return c.Unprotected()
	}
	p := float64(c.Processes)
	return c.firstSecond(func(window float64) float64 { return (p - 1) * (1 - math.Exp(-c.perKey()*window/p)) })
}

// Locked returns them for a lock shared by all processes: one query for each
// key that is read in the first second.
func (c ColdCache) Locked() float64 { return c.firstSecond(func(float64) float64 { return 0 }) }

func (c ColdCache) perKey() float64 { return c.Reads / math.Max(c.Keys, 1) }

// firstSecond integrates over the moment s at which a key is read first: one
// query, and more of them for the readers that come until it has been computed
// or the second is over.
func (c ColdCache) firstSecond(more func(window float64) float64) float64 {
	const steps = 256
	rate, sum := c.perKey(), 0.0
	for i := range steps {
		from, to := float64(i)/steps, float64(i+1)/steps
		born := math.Exp(-rate*from) - math.Exp(-rate*to)
		sum += born * (1 + more(math.Min(c.Rebuild.Seconds(), 1-(from+to)/2)))
	}
	return math.Max(c.Keys, 1) * sum
}

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
