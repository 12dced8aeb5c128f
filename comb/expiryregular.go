package comb

import (
	"cmp"
	"math"
	"slices"
)

// Keys that are written in batches look like teeth. What tells teeth from
// batches, where there are too many of them to be exceptions, is that teeth
// come at one spacing.
const (
	fewestRegular = 6    // teeth; fewer may be at one spacing by chance
	regularShare  = 0.5  // of the keys that must be in the teeth
	regularGap    = 0.02 // of the spacing by which a gap may be off
	mostMissing   = 3    // spacings that a gap may be long
	narrowTooth   = 20   // a tooth is at most 1/20 of the spacing wide
)

// regular searches once more without the allowance for batches, and returns
// the scan if what it finds are teeth at one spacing. Else it returns nil.
func (s *expiryScan) regular() *expiryScan {
	const allowed = 1.5 // a smaller allowance hides no tooth
	if !slices.ContainsFunc(s.windows, func(w expiryWindow) bool { return w.dispersion > allowed }) {
		return nil
	}
	again := newExpiryScan(s.all, s.o)
	again.dispersion = 1
	for i := range again.windows {
		again.windows[i].dispersion = 1
	}
	for _, c := range again.candidates() {
		if len(again.found) < again.o.MaxBursts {
			again.take(c)
		}
	}
	if !again.atOneSpacing() || again.keysFound() <= s.keysFound() {
		return nil
	}
	return again
}

func (s *expiryScan) keysFound() float64 {
	sum := 0.0
	for _, c := range s.found {
		sum += c.keys
	}
	return sum
}

// atOneSpacing tells whether the clusters hold most keys, are narrow, and lie
// whole multiples of one spacing apart.
func (s *expiryScan) atOneSpacing() bool {
	if len(s.found) < fewestRegular {
		return false
	}
	slices.SortFunc(s.found, func(a, b expiryCluster) int { return cmp.Compare(a.from, b.from) })
	var gaps []float64
	keys, widest := 0.0, 0.0
	for i, c := range s.found {
		keys += c.keys
		widest = max(widest, c.to-c.from)
		if i > 0 {
			gaps = append(gaps, c.from-s.found[i-1].from)
		}
	}
	spacing := slices.Sorted(slices.Values(gaps))[len(gaps)/2]
	if keys < regularShare*s.all.n || widest > spacing/narrowTooth {
		return false
	}
	for _, g := range gaps {
		times := math.Round(g / spacing)
		if times < 1 || times > mostMissing || math.Abs(g-times*spacing) > max(regularGap*spacing, widest) {
			return false
		}
	}
	return true
}
