package watch

import "slices"

// median of a list that is not empty; it is sorted in place.
func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}
