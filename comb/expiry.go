package comb

import "time"

// An ExpiryBin is a number of keys that expire at one time or within one bin.
type ExpiryBin struct {
	At    int64 // Unix time in milliseconds, the start of the bin
	Count uint64
}

// ExpiryOptions are the settings of FindBursts. The zero value is ready.
type ExpiryOptions struct {
	Width     time.Duration // of a bin; 0: 1 ms, that is exact times
	MinKeys   int           // fewer keys are not judged; 0: 20
	MinRatio  float64       // of a burst over its baseline; 0: 4
	Alpha     float64       // largest false-alarm probability; 0: 0.001
	MaxBursts int           // 0: 1000
}

// A Burst is a cluster of expiries.
type Burst struct {
	From, To int64   // Unix ms of the first and the last expiry in it (bin starts)
	Keys     uint64  // keys in it
	Baseline float64 // keys expected there without the burst
	LogP     float64 // natural logarithm of the false-alarm probability, at most 0
	Newest   bool    // it reaches the longest remaining time of the group
}

// Expiry is what one snapshot of remaining times tells.
type Expiry struct {
	Keys       uint64
	MaxLeft    time.Duration // longest remaining time
	Typical    float64       // keys per second outside bursts
	Dispersion float64       // variance over mean of the counts: above 1 if keys are written in batches
	Sliding    float64       // evidence in nats that TTLs are renewed at each access; above 20: they are
	Bursts     []Burst       // in order of time
	Judged     bool          // false: fewer than MinKeys
}
