package remedy

import (
	"fmt"
	"math"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// jitterOf returns the jitter that this case needs and no more, in whole
// percents, and whether it is enough for the budget. Where nothing tells what
// the source can bear it is the usual one, or what halves a wide tooth.
func (c Case) jitterOf() (j comb.Jitter, enough bool) {
	usual := c.UsualJitter
	if usual.Fraction == 0 {
		usual.Fraction = usualSpread
	}
	if c.TTL <= 0 || !c.many() {
		return usual, true
	}
	if target := c.target(); target > 0 {
		j, ok := c.smallest(target)
		switch {
		case ok && (c.Budget > 0 || j.Fraction <= usual.Fraction):
			return j, true
		case c.Budget > 0:
			return comb.Jitter{Fraction: widest}, false
		}
	}
	wave, _ := c.parts()
	if j, ok := c.smallest(wave / 2); ok && j.Fraction > usual.Fraction {
		return j, true
	}
	return usual, true
}

// smallest returns the smallest jitter in whole percents that keeps the busiest
// second of the many keys at or below target, if one does.
func (c Case) smallest(target float64) (j comb.Jitter, ok bool) {
	j, ok = comb.SmallestJitter(c.wave(), target/c.multiplicity(), false)
	j.Fraction = math.Ceil(100*j.Fraction-1e-9) / 100
	return j, ok && j.Fraction <= widest
}

// multiplicity is how often each of the many keys is computed at one death.
func (c Case) multiplicity() float64 {
	if c.Total <= 0 || c.Keys <= 0 {
		return 1
	}
	return math.Max(1, c.Total*(1-c.Identical)/c.Keys)
}

// spreadKeys is the busiest second of the many keys with a jitter.
func (c Case) spreadKeys(j comb.Jitter) float64 {
	return c.multiplicity() * c.wave().BusiestSecond(j, 1)
}

// jitter spreads the deaths of many keys.
func jitter(c Case) Remedy {
	r := Remedy{Name: Jitter, Text: "give each key a random TTL instead of one fixed TTL"}
	switch {
	case c.Kind == CronPileUp:
		r.Helps, r.Why = No, "a schedule makes these teeth, not a TTL"
		return r
	case c.Kind == MissingKey:
		r.Helps, r.Why = No, "there is no cached value whose TTL could be spread"
		return r
	case !c.many() && (c.Kind == HotKey || c.hot()):
		r.Helps, r.Why = No, "one hot key can't be spread: whenever it dies, all its readers miss at once"
		return r
	case !c.many() && c.Keys > 0:
		r.Helps, r.Why = No, fmt.Sprintf("only %s: what is many is their readers, and they stay together", count(c.Keys, "keys"))
		return r
	}
	j, enough := c.jitterOf()
	if j.Fraction == 0 {
		r.Helps, r.Why = No, fmt.Sprintf("they are spread over %s already, which keeps the busiest second below %s", secs(c.Width), rate(c.target(), c.unit()))
		return r
	}
	r.Text = c.jitterText(j)
	if c.Kind == ColdStart {
		r.Helps, r.Why = Partly, "it does nothing for the cold start itself: it keeps the keys born in it from dying together one TTL later"
		return r
	}
	if c.TTL <= 0 || c.Keys <= 0 {
		r.Helps, r.Why = Yes, "keys that live for different times die at different times; how much lower the tooth gets follows from the TTL and the number of keys, which are not both known"
		return r
	}
	c.weighJitter(&r, j, enough)
	return r
}

func (c Case) jitterText(j comb.Jitter) string {
	lo, hi := c.ttlRange(j)
	switch {
	case c.PinnedTo != "" && c.TTL > 0:
		return fmt.Sprintf("add a random time of up to %s to each deadline instead of setting all to %s", secs(hi-lo), c.PinnedTo)
	case c.TTL <= 0:
		return fmt.Sprintf("write these keys with a random TTL: ±%.0f %% of the one they have", 100*j.Fraction)
	case c.TTLAtLeast:
		return fmt.Sprintf("write these keys with a random TTL: ±%.0f %% of the one they have, which is at least %s", 100*j.Fraction, secs(c.TTL))
	default:
		return fmt.Sprintf("write these keys with a random TTL of %s to %s instead of %s", secs(lo), secs(hi), secs(c.TTL))
	}
}

// ttlRange is the range of times to live with a jitter, in whole seconds.
func (c Case) ttlRange(j comb.Jitter) (low, high time.Duration) {
	low, high = j.Range(c.ttl())
	low = max(low.Round(time.Second), time.Second)
	return low, max(high.Round(time.Second), low+time.Second)
}

// weighJitter predicts what a jitter does where the numbers are known.
func (c Case) weighJitter(r *Remedy, j comb.Jitter, enough bool) {
	wave, hot := c.parts()
	after := c.spreadKeys(j)
	r.Effect = c.effect(after + hot)
	r.Helps = c.layered(comb.Effect{PeakBefore: wave, PeakAfter: after})
	r.Why = fmt.Sprintf("it spreads %s over %s; the mean TTL stays", count(c.Keys, "keys"), secs(c.width(j)))
	r.Curve = c.curve(burst(wave, c.Keys*c.multiplicity(), c.Width), burst(0, c.Keys*c.multiplicity(), c.width(j)), hot, hot)
	switch {
	case r.Helps == No:
		r.Why = fmt.Sprintf("±%.0f %% spreads the tooth over %s, which is hardly wider than it is", 100*j.Fraction, secs(c.width(j)))
	case !enough:
		r.Helps = Partly
		r.Caveats = append(r.Caveats, fmt.Sprintf("no jitter of this TTL reaches %s: a longer TTL, one load a key or serving stale values would", rate(c.target(), c.unit())))
	}
	if c.layers() && r.Helps != No {
		r.Why += fmt.Sprintf("; the hot key with its %s stays: it needs one load a key as well", count(hot, "copies"))
	}
}

// layers tells whether the tooth is made by both many keys and a hot one.
func (c Case) layers() bool { return c.many() && c.hot() }

// layered grades a remedy by the part of the tooth that it is for. Where there
// is another part, it is only partly a help.
func (c Case) layered(part comb.Effect) Helps {
	h := helps(part)
	if h == Yes && c.layers() {
		return Partly
	}
	return h
}

// outlive lets keys live until the job has written them again.
func outlive(c Case) Remedy {
	r := Remedy{Name: Outlive, Helps: No, Text: "let the keys live longer than the time between two runs of the job that writes them"}
	switch {
	case c.TTL <= 0 || c.Period <= 0:
		r.Why = "the TTL and the period of the job are not both known"
	case c.TTL > c.Period:
		r.Why = fmt.Sprintf("they do already: %s against a run every %s", secs(c.TTL), secs(c.Period))
	default:
		r.Helps = Yes
		r.Text = fmt.Sprintf("let the keys live for %s, twice the %s between two runs of the job that writes them", secs(2*c.Period), secs(c.Period))
		r.Why = fmt.Sprintf("with %s they die before the next run; if they outlive it, no reader misses, and one run that fails is survived", secs(c.TTL))
		r.Effect = c.effect(c.Baseline)
	}
	return r
}
