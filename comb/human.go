package comb

import (
	"slices"
	"time"
)

// humanSeconds are the durations, in seconds, that people write for a time to
// live, an interval or a lease: round numbers of seconds, minutes, hours, days
// and weeks, and round decimal numbers of seconds. In ascending order.
var humanSeconds = [...]int64{
	1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 45, 60, 75, 90, 100, 120, 150, 180, 200, 240, 250, 300,
	360, 400, 420, 450, 480, 500, 540, 600, 720, 750, 800, 900, 1000, 1200, 1500, 1800, 2000, 2100, 2400, 2500,
	2700, 3000, 3600, 4000, 4500, 5000, 5400, 6000, 7200, 8000, 9000, 10000, 10800, 12000, 14400, 15000, 18000,
	20000, 21600, 25000, 28800, 30000, 36000, 43200, 50000, 54000, 57600, 64800, 72000, 86400, 100000, 108000,
	129600, 172800, 200000, 216000, 259200, 300000, 345600, 432000, 500000, 518400, 604800, 864000, 1000000,
	1209600, 1296000, 1728000, 1814400, 2160000, 2419200, 2592000, 2678400, 3888000, 5184000, 7776000,
	10368000, 15552000, 15768000, 31104000, 31536000, 63072000, 94608000, 157680000, 315360000,
}

// HumanDurations returns the durations that people write for a time to live
// or an interval, from 1 s to 10 years, in ascending order.
func HumanDurations() []time.Duration {
	all := make([]time.Duration, len(humanSeconds))
	for i, s := range humanSeconds {
		all[i] = time.Duration(s) * time.Second
	}
	return all
}

// NextHuman returns the shortest duration of HumanDurations that is at least
// d. It returns 0 if d is above the longest of them.
func NextHuman(d time.Duration) time.Duration {
	s := int64((d + time.Second - 1) / time.Second)
	i, _ := slices.BinarySearch(humanSeconds[:], s)
	if i == len(humanSeconds) {
		return 0
	}
	return time.Duration(humanSeconds[i]) * time.Second
}

// NearestHuman returns the duration of HumanDurations that is nearest to d by
// ratio, and the distance d - nearest.
func NearestHuman(d time.Duration) (nearest, off time.Duration) {
	above := NextHuman(d)
	last := len(humanSeconds) - 1
	if above == 0 {
		nearest = time.Duration(humanSeconds[last]) * time.Second
		return nearest, d - nearest
	}
	i, _ := slices.BinarySearch(humanSeconds[:], int64(above/time.Second))
	if i == 0 || d >= above {
		return above, d - above
	}
	below := time.Duration(humanSeconds[i-1]) * time.Second
	if float64(d)/float64(below) < float64(above)/float64(d) {
		return below, d - below
	}
	return above, d - above
}
