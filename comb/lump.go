package comb

import "math"

// A lump is queries that come together, with a chance, of each of some keys:
// one and, on average, some more.
type lump struct {
	keys, chance, more float64
	most               float64 // that more can be; 0: it is a Poisson number
}

func (p *peaker) lump(c readClass, chance, size float64) lump {
	l := lump{keys: c.keys, chance: min(chance, 1), more: max(size-1, 0)}
	if p.Policy.Has(Coalesce) {
		l.most = float64(p.Processes - 1)
	}
	return l
}

func (l lump) mean() float64 { return l.keys * l.chance * (1 + l.more) }

// tilted returns the logarithm of the moment generating function of a lump that
// comes, and its derivative.
func (l lump) tilted(tilt float64) (logMoment, mean float64) {
	if l.most > 0 {
		share := min(l.more/l.most, 1)
		grown := 1 + share*math.Expm1(tilt)
		return tilt + l.most*math.Log(grown), 1 + l.most*share*math.Exp(tilt)/grown
	}
	return tilt + l.more*math.Expm1(tilt), 1 + l.more*math.Exp(tilt)
}

// highest returns the expected maximum, over about n seconds, of a sum of
// lumps: the value x at which Chernoff's bound on the probability of a sum above
// x is 1/n. For lumps of one query and a large mean it is what busiest is.
func highest(lumps []lump, n float64) float64 {
	rare := math.Log(max(1, n))
	low, high := 0.0, 20.0
	for range 40 {
		tilt := (low + high) / 2
		if logMoment, mean := tilted(lumps, tilt); tilt*mean-logMoment < rare {
			low = tilt
		} else {
			high = tilt
		}
	}
	_, mean := tilted(lumps, low)
	return mean
}

// tilted returns the logarithm of the moment generating function of a sum of
// lumps, and its derivative.
func tilted(lumps []lump, tilt float64) (logMoment, mean float64) {
	for _, l := range lumps {
		if l.chance <= 0 {
			continue
		}
		x, size := l.tilted(tilt)
		weight := 1 / (1 + (1-l.chance)/l.chance*math.Exp(-min(x, 700)))
		if x > 500 {
			logMoment += l.keys * (x + math.Log(l.chance))
		} else {
			logMoment += l.keys * math.Log1p(l.chance*math.Expm1(x))
		}
		mean += l.keys * weight * size
	}
	return logMoment, mean
}
