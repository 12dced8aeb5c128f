package comb

import (
	"math"
	"slices"
)

// median of v, 0 when it is empty. v is left as it is.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// quantile q of v by rank, 0 when it is empty. v is left as it is.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return ranked(slices.Clone(v), int(q*float64(len(v)-1)))
}

// ranked returns the value that sorting would put at place k; it moves the
// values (Hoare 1961).
func ranked(v []float64, k int) float64 {
	lo, hi := 0, len(v)-1
	for lo < hi {
		pivot := v[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for pivot < v[j] {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return v[k]
		}
	}
	return v[k]
}

// fitLine is the least-squares line y = a + b x.
func fitLine(x, y []float64) (a, b float64) {
	var mx, my float64
	n := float64(len(x))
	for i := range x {
		mx += x[i] / n
		my += y[i] / n
	}
	var sxx, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	if sxx > 0 {
		b = sxy / sxx
	}
	return my - b*mx, b
}

// line is a robust straight line through tooth onsets.
type line struct {
	a, b  float64
	sigma float64 // timing noise of one onset
	err   float64 // standard error of the slope b
}

// fitRobust fits a line, once again without the points beyond 4 median
// absolute deviations. floor is the least timing noise the stamps allow.
func fitRobust(x, y []float64, floor float64) line {
	var l line
	l.a, l.b = fitLine(x, y)
	off := l.residuals(x, y)
	lim := max(4*madScale*median(off), floor*math.Sqrt(12))
	var kx, ky []float64
	for i := range x {
		if off[i] <= lim {
			kx, ky = append(kx, x[i]), append(ky, y[i])
		}
	}
	if len(kx) >= 3 {
		l.a, l.b = fitLine(kx, ky)
		off = l.residuals(x, y)
	}
	l.sigma = max(madScale*median(off), floor)
	var ss, mx, sxx float64
	for i := range x {
		ss += min(off[i]*off[i], 16*l.sigma*l.sigma)
		mx += x[i] / float64(len(x))
	}
	l.sigma = max(l.sigma, math.Sqrt(ss/max(float64(len(x)-2), 1)))
	for _, v := range x {
		sxx += (v - mx) * (v - mx)
	}
	l.err = l.sigma / math.Sqrt(max(sxx, 0.5))
	return l
}

// madScale turns a median absolute deviation into a standard deviation of normal noise.
const madScale = 1.4826

// residuals are the absolute distances from the line.
func (l line) residuals(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = math.Abs(y[i] - l.a - l.b*x[i])
	}
	return out
}

// boxcar is the running mean over w values, shorter at the ends.
func boxcar(v []float64, w int) []float64 {
	if w <= 1 {
		return slices.Clone(v)
	}
	sum := make([]float64, len(v)+1)
	for i, x := range v {
		sum[i+1] = sum[i] + x
	}
	out := make([]float64, len(v))
	for i := range v {
		a, b := max(i-(w-1)/2, 0), min(i+w/2+1, len(v))
		out[i] = (sum[b] - sum[a]) / float64(b-a)
	}
	return out
}

// mean of v[a:b], clipped to v; otherwise when nothing is left.
func meanOr(v []float64, a, b int, otherwise float64) float64 {
	a, b = max(a, 0), min(b, len(v))
	if a >= b {
		return otherwise
	}
	sum := 0.0
	for _, x := range v[a:b] {
		sum += x
	}
	return sum / float64(b-a)
}
