package attribute

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb"
)

// ttlSuspects weighs every group of keys as the cause of a comb.
func (a *analyser) ttlSuspects(s *subject) []Suspect {
	var out []Suspect
	for i := range a.groups {
		k := &a.groups[i]
		c := a.keySuspect(s, k)
		out = append(out, c)
	}
	return a.together(s, out)
}

// tieless is for keys of which nothing but the TTL speaks: any application has
// some of these, so they must not stand before those that nobody names.
const tieless = 2*nameless - 1

// faint is the least that expiries must be worth to tie keys to a herd.
const faint = 1.0

// kindOfKeys is what keys are to a herd: many that die together, or one hot key.
func (s *subject) kindOfKeys() Kind {
	if s.hot {
		return HotKey
	}
	return TTL
}

// keySuspect weighs one group.
func (a *analyser) keySuspect(s *subject, k *keyGroup) Suspect {
	c := Suspect{Kind: s.kindOfKeys(), Name: k.Pattern, Cache: k.cache, Patterns: []string{k.Pattern}}
	guesses := k.ttls(s)
	if len(guesses) == 0 {
		c.refute("%s", k.noTTL(s))
		return c
	}
	best := c
	best.Nats = math.Inf(-1)
	for _, g := range guesses {
		one := c
		one.TTL, one.Delta = seconds(g.ttl), seconds(s.period-g.ttl)
		a.weighTTL(s, &one, g, k.Base.Jitter)
		a.weighFit(s, &one, k, g.ttl)
		if one.Nats > best.Nats {
			best = one
		}
	}
	nats, alike := s.words.match(k.words)
	switch {
	case nats > 0:
		best.say(nats, "its name is like the statement's (%s)", list(alike, 3))
	case !best.fits:
		best.say(tieless, "neither its name nor its expiries tie it to these statements")
	}
	return best
}

// noTTL says why no time to live of the group fits the period.
func (k *keyGroup) noTTL(s *subject) string {
	if least := k.Base.AtLeast.Seconds(); least > s.period {
		return fmt.Sprintf("its keys live %s or more, longer than the period of %s", dur(k.Base.AtLeast), dur(s.comb.Period))
	}
	return fmt.Sprintf("no usual TTL of %s or more lies just below the period of %s", dur(k.Base.AtLeast), dur(s.comb.Period))
}

// weighTTL weighs a time to live against the period, the clock and the texture
// of the teeth. A suspect without a TTL (0) is weighed by the rest.
func (a *analyser) weighTTL(s *subject, c *Suspect, g ttlGuess, j comb.Jitter) {
	c.add(s.timing(), "")
	a.weighRest(s, c, g, j)
	s.weighClock(c)
	s.weighReads(c)
	if c.TTL > 0 {
		a.weighStart(s, c)
	}
}

// weighRest weighs what is left of the period above the TTL.
func (a *analyser) weighRest(s *subject, c *Suspect, g ttlGuess, j comb.Jitter) {
	if g.ttl == 0 {
		c.say(-18, "the period of %s is near no TTL that people write", dur(s.comb.Period))
		return
	}
	rest := s.period - g.ttl
	least := -s.slack()
	if j.Fraction > 0 && !j.OneSided {
		least -= j.Fraction * g.ttl
	}
	most := s.mostRest(g.ttl) + s.slack()
	if j.Fraction > 0 {
		most += 0.3 * j.Fraction * g.ttl
	}
	switch {
	case rest < least:
		c.refute("its TTL of %s is longer than the period of %s", dur(c.TTL), dur(s.comb.Period))
		return
	case rest > most:
		c.refute("the period of %s is %s longer than its TTL of %s: more than a rebuild", dur(s.comb.Period), dur(seconds(rest)), dur(c.TTL))
		return
	}
	nats := 1.0
	if !g.known {
		nats = -1
	}
	if g.other {
		c.say(-3, "the remaining times in the cache rather speak for another TTL")
	}
	text := fmt.Sprintf("each period is a TTL of %s plus %s", dur(c.TTL), dur(seconds(max(rest, 0))))
	if ratio, r := s.rebuildsIn(g.ttl); r > s.slack()/2 && j.Fraction == 0 {
		slack := s.slack() / r
		times := fmt.Sprintf(", %.1f times the %s of a rebuild", ratio, dur(seconds(r)))
		switch {
		case ratio > 0.6 && ratio < 1.35:
			nats, text = nats+2, text+times+", as one refill at a time takes"
		case ratio > 1.75 && ratio < 2.7:
			nats, text = nats+2, text+times+", as refills without a lock take"
		case ratio > 0.6-slack && ratio < 2.7+slack:
			nats, text = nats+1, text+times
		case ratio > 4+slack:
			c.say(-2, "the %s above the TTL are %.0f rebuilds of %s", dur(seconds(rest)), ratio, dur(seconds(r)))
		}
	}
	if nats < 0 {
		c.add(nats, "") // a guessed TTL fits almost any period
		nats = 0
	}
	c.add(nats, text)
}

// rebuildsIn returns how many rebuilds fit into what is left of a period above
// a TTL, and how long a rebuild takes, both for the median statement: each has
// its own period where its own teeth could be told. r is 0 if durations are not
// known.
func (s *subject) rebuildsIn(ttl float64) (ratio, r float64) {
	var ratios, rebuilds []float64
	for i := range s.log.Members {
		m := &s.log.Members[i]
		if m.Comb != nil && m.Timed > 0 && m.Median > 0 && !m.Follower {
			ratios = append(ratios, (m.Comb.Period.Seconds()-ttl)/m.Median.Seconds())
			rebuilds = append(rebuilds, m.Median.Seconds())
		}
	}
	if len(ratios) > 0 && median(rebuilds) > s.slack() {
		return median(ratios), median(rebuilds)
	}
	if r = s.rebuild(); r > 0 {
		return (s.period - ttl) / r, r
	}
	return 0, 0
}

// weighClock weighs the lock: what refills itself drifts, by a rebuild a period.
func (s *subject) weighClock(c *Suspect) {
	switch s.lock {
	case comb.Drifting:
		c.say(4, "the teeth drift %s a period against the wall clock, as what times itself does", dur(s.comb.Drift))
	case comb.Free:
		c.say(1, "the period of %s keeps to no schedule", dur(s.comb.Period))
	case comb.WallClock:
		firm, drift := s.firmness()
		c.say(-2-18*firm, "the teeth keep the wall clock: a TTL and a rebuild would drift %s over the log", dur(seconds(drift)))
	}
}

// firmness says how much a lock to the wall clock means, 0..1: next to nothing
// where even a TTL and a rebuild would drift by less than the stamps and the
// scatter of the teeth hide. drift is how far they would, in seconds.
func (s *subject) firmness() (firm, drift float64) {
	least := s.rebuild()
	if least == 0 {
		least = 0.05
	}
	drift = s.steps * least
	return min(1, drift/(6*max(s.res, s.spread))), drift
}

// weighReads weighs who asks for what.
func (s *subject) weighReads(c *Suspect) {
	f := s.log
	switch {
	case s.reads < 0.5:
		c.say(-10, "%.0f %% of it writes: no cache would answer that", 100*(1-s.reads))
	case s.reads < 0.95:
		c.say(-12*(1-s.reads), "%.0f %% of it writes", 100*(1-s.reads))
	}
	switch {
	case s.batch:
		c.say(-10, "every client sends the same batch: a job, not misses")
	case s.alone():
		c.say(-6, "it comes over one connection, one statement after the other")
	case f.HostsATooth > 1:
		c.say(2, "%d clients ask in each tooth", f.HostsATooth)
	}
	if f.HostsATooth == 1 && f.ConnsATooth > 1 {
		c.say(-1, "all of it comes from one client")
	}
	switch {
	case c.Kind == HotKey && s.hot:
		c.say(3, "%.0f %% of a tooth is one and the same statement", 100*f.Identical)
	case c.Kind == HotKey && f.Identical < 0.3:
		c.say(-16, "no statement is more than %.0f %% of a tooth", 100*f.Identical)
	case c.Kind == HotKey:
		c.say(-8, "no statement is more than %.0f %% of a tooth", 100*f.Identical)
	case s.hot:
		c.say(-5, "%.0f %% of a tooth is one and the same statement: one key, not many", 100*f.Identical)
	case f.Texts > 2:
		c.say(1, "about %d different values are asked for", f.Texts)
	}
}

// weighStart weighs whether the teeth begin with a deploy or a flush, or one
// TTL after it.
func (a *analyser) weighStart(s *subject, c *Suspect) {
	const reach = 30
	for _, e := range a.Events {
		if e.Kind == Outage {
			continue
		}
		since := s.onsets[0] - e.At.Sub(s.start).Seconds()
		worth := min(4, math.Log1p(s.period/60)+1)
		switch {
		case since > -5 && since < reach:
			c.say(worth, "the first tooth follows the %s at %s", e.Kind, a.when(e.At))
			return
		case math.Abs(since-c.TTL.Seconds()) < reach && c.TTL.Seconds() > 2*reach:
			c.say(worth, "the first tooth comes one TTL after the %s at %s", e.Kind, a.when(e.At))
			return
		}
	}
}

// weighFit weighs when the keys of the snapshot die.
func (a *analyser) weighFit(s *subject, c *Suspect, k *keyGroup, ttl float64) {
	f, ok := k.fitTo(s, ttl)
	if !ok {
		c.farSnapshot = true
		if k.herds() {
			c.say(2.5, "its keys die together in the snapshot too, which is too far from the log to compare the moments")
		}
		return
	}
	if s.hot && k.WithTTL > 3 && f.nats < 2 {
		return // one of these keys may be the hot one, whatever the others do
	}
	who, what := fmt.Sprintf("%d of %d keys", f.keys, k.WithTTL), "expire in the tooth of"
	if f.births {
		what = "were written in the tooth of"
	}
	switch {
	case f.nats > 0 && f.nats < faint:
		c.add(f.nats, "")
	case f.nats > 0:
		if f.ahead && !f.births {
			what = "expire where the next tooth is due,"
		}
		c.fits = true
		if k.WithTTL == 1 {
			who, what = "its key", strings.NewReplacer("expire ", "expires ", "were ", "was ").Replace(what)
		}
		c.say(f.nats, "%s %s %s", who, what, a.when(f.tooth))
		if k.WithTTL > 1 && k.herds() {
			c.say(3, "the cache shows them as a herd")
		}
	case f.nats < 0:
		c.spread = true
		c.say(f.nats, "only %.0f %% of its %d keys expire in a tooth: they are spread over their TTL", 100*f.share, k.WithTTL)
	}
}

// together makes one suspect of the groups that were written together: their
// keys die in the same teeth, and either their names or a herd across patterns
// in the cache say that they belong to each other.
func (a *analyser) together(s *subject, list []Suspect) []Suspect {
	if s.hot {
		return list
	}
	lead := -1
	for i := range list {
		if list[i].fits && !list[i].refuted() && (lead < 0 || list[i].Nats > list[lead].Nats) {
			lead = i
		}
	}
	if lead < 0 {
		return list
	}
	var with []int
	for i := range list {
		c, b := &list[i], &list[lead]
		if i == lead || c.Kind != TTL || !c.fits || c.refuted() || c.Cache != b.Cache || c.TTL != b.TTL {
			continue
		}
		named, _ := s.words.match(a.groups[i].words)
		same := a.groups[i].cross >= 0 && a.groups[i].cross == a.groups[lead].cross
		if same || named > 0 {
			with = append(with, i)
		}
	}
	if len(with) == 0 {
		return list
	}
	slices.SortStableFunc(with, func(x, y int) int { return cmp.Compare(list[y].Nats, list[x].Nats) })
	b := &list[lead]
	for _, i := range with {
		b.Patterns = append(b.Patterns, list[i].Name)
	}
	b.Name = listNames(b.Patterns)
	b.say(1, "%d patterns die in the same teeth", len(b.Patterns))
	var out []Suspect
	for i := range list {
		if !slices.Contains(with, i) {
			out = append(out, list[i])
		}
	}
	return out
}

// listNames names the first few patterns.
func listNames(names []string) string { return list(names, 3) }
