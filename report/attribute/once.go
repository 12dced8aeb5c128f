package attribute

import (
	"math"
	"time"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/querylog"
)

// onceSuspects weighs the causes of teeth without a period: a cold start, what
// an outage held back, and one hot value.
func (a *analyser) onceSuspects(s *subject) []Suspect {
	if s.storm {
		return a.stormSuspects(s)
	}
	out := []Suspect{a.coldStart(s), a.hotOnce(s), a.backlog(s, nil)}
	for i := range a.policies {
		out = append(out, a.backlog(s, &a.policies[i]))
	}
	return append(out, a.refills(s)...)
}

// coldStart weighs an empty cache.
func (a *analyser) coldStart(s *subject) Suspect {
	f := s.log
	c := Suspect{Kind: ColdStart, Cache: -1, LogAlone: true}
	c.add(4, "")
	if f.Rule == "HS504" {
		c.say(2, "it is a burst beyond all others of the log")
	}
	if n := s.cacheable(); n > 1 {
		c.say(3, "%d statements that a cache could answer rise together, once", n)
	}
	switch {
	case len(s.onsets) > 2:
		c.say(-6, "it came %d times", len(s.onsets))
	case s.hot:
		c.say(2, "one value is asked for again and again in one moment, once")
	}
	if s.reads < 0.5 {
		c.say(-8, "%.0f %% of it writes: no cache would answer that", 100*(1-s.reads))
	}
	if f.HostsATooth > 1 {
		c.say(1, "%d clients ask", f.HostsATooth)
	}
	a.weighEmptied(s, &c)
	if _, kind := a.outageBefore(s); kind == Outage {
		c.say(-3, "it follows an outage: what waited would look the same")
	}
	return c
}

// cacheable counts the statements that a cache could answer.
func (s *subject) cacheable() (n int) {
	for i := range s.log.Members {
		if isRead(&s.log.Members[i]) {
			n++
		}
	}
	return n
}

// weighEmptied looks for a deploy, a flush or a restart just before.
func (a *analyser) weighEmptied(s *subject, c *Suspect) {
	const before, after = 10, 120 // seconds from the event to the tooth
	first := s.onsets[0]
	for _, e := range a.Events {
		if e.Kind == Outage {
			continue
		}
		since := first - e.At.Sub(s.start).Seconds()
		if since > -before && since < after {
			c.Name, c.LogAlone = string(e.Kind)+" at "+a.when(e.At), false
			c.say(8, "it follows the %s at %s by %s", e.Kind, a.when(e.At), dur(seconds(max(since, 0))))
			return
		}
	}
}

// hotOnce weighs one value that many ask for.
func (a *analyser) hotOnce(s *subject) Suspect {
	f := s.log
	c := Suspect{Kind: HotKey, Cache: -1, LogAlone: true}
	c.add(4, "")
	switch {
	case s.reads < 0.5:
		c.refute("it writes: no cache would answer that")
	case f.Rule == "HS502":
		c.say(6, "up to %d copies of one statement within a second, from %s", f.Second, plural(f.HostsATooth, "client", "clients"))
	case s.hot:
		c.say(1, "%.0f %% of it is one and the same statement", 100*f.Identical)
	default:
		c.refute("no statement is more than %.0f %% of it", 100*f.Identical)
	}
	if len(s.onsets) == 1 && f.Rule == "HS502" {
		c.add(-1, "")
	}
	return c
}

// backlog weighs attempts that an outage held back and that come when it ends.
func (a *analyser) backlog(s *subject, p *policy) Suspect {
	c := Suspect{Kind: Retry, Cache: -1, LogAlone: true}
	if p != nil {
		c = p.newSuspect(s)
		c.Setting = p.setting
	}
	at, kind := a.outageBefore(s)
	if kind == "" {
		c.refute("no outage is known before it")
		return c
	}
	c.add(3, "")
	c.say(4, "it follows the %s", a.outage(at, kind))
	if s.reads < 0.95 {
		c.say(3, "statements that write or lock take part: work that was tried again, not a cache")
	}
	if p != nil {
		if p.random() {
			c.say(1, "its waits are random: attempts come back as one ragged hump, not as waves")
		} else if d := p.Delay.Seconds(); len(s.onsets) == 1 && s.span-s.onsets[0] > 4*d {
			c.say(-3, "its wait of %s would bring more waves", dur(p.Delay))
		}
	}
	return c
}

// stormSuspects weighs waves with growing pauses.
func (a *analyser) stormSuspects(s *subject) []Suspect {
	c := Suspect{Kind: Retry, Cache: -1, LogAlone: true}
	c.say(12, "%d shrinking waves, the pauses growing from %s by %s, after an outage", len(s.onsets), dur(s.log.Spacing), trim(s.log.Growth, 1))
	out := []Suspect{c}
	for i := range a.policies {
		p := &a.policies[i]
		one := p.newSuspect(s)
		rest := s.log.Spacing.Seconds() - p.Delay.Seconds()
		switch {
		case p.random():
			one.refute("its waits are random: attempts made together do not come back together")
		case p.Multiplier > 1.3 && math.Abs(p.Multiplier-s.log.Growth) < 0.4 && rest > -1 && rest < max(1, 0.3*p.Delay.Seconds())+2*s.slowest:
			one.say(14, "its waits grow from %s by %s, as the pauses do", dur(p.Delay), trim(p.Multiplier, 1))
		default:
			one.refute("its waits (%s, factor %s) are not the pauses seen", dur(p.Delay), trim(p.Multiplier, 1))
		}
		out = append(out, one)
	}
	return out
}

// refills looks for keys that were written in the tooth: what was refilled
// then.
func (a *analyser) refills(s *subject) []Suspect {
	var out []Suspect
	if s.reads < 0.5 {
		return nil
	}
	for i := range a.groups {
		k := &a.groups[i]
		n := k.bornIn(s)
		if n < 3 || 2*n < k.WithTTL {
			continue
		}
		c := a.coldStart(s)
		c.Cache, c.Patterns, c.TTL, c.LogAlone = k.cache, []string{k.Pattern}, k.Base.TTL, false
		if c.Name != "" {
			c.Name += ": "
		}
		c.Name += k.Pattern
		c.say(4, "%d of the %d keys of %s were written then, with a TTL of %s: they will die together", n, k.WithTTL, k.Pattern, dur(k.Base.TTL))
		if nats, alike := s.words.match(k.words); nats > 0 {
			c.say(nats, "their name is like the statement's (%s)", list(alike, 3))
		}
		out = append(out, c)
	}
	return out
}

// bornIn counts the keys that were written in a tooth that came once.
func (k *keyGroup) bornIn(s *subject) (n uint64) {
	if k.Base.TTL == 0 || len(s.onsets) == 0 {
		return 0
	}
	from := s.time(s.onsets[0] - s.res)
	to := s.time(s.onsets[0] + s.width + s.slowest + 2)
	return k.expiring(from.Add(k.Base.TTL), to.Add(k.Base.TTL))
}

// missingRow passes on what the log knows about rows that do not exist.
func missingRow(s *subject) Suspect {
	c := Suspect{Kind: MissingKey, Cache: -1, LogAlone: true}
	f := s.log
	if len(f.Causes) > 0 && f.Causes[0].Kind == querylog.CauseMissingKey && f.Causes[0].Score < 0.5 {
		c.say(enough, "%d identical reads were sent %d times; whether they found a row is not in this log", f.Texts, f.Count)
		return c
	}
	c.say(15, "%d statements without a row were sent %d times", f.Texts, f.Count)
	return c
}

// cacheSuspects weighs the causes of a herd of keys where there is no log.
func (a *analyser) cacheSuspects(s *subject) []Suspect {
	f := s.keys
	c := Suspect{Kind: TTL, Cache: s.cache, Patterns: f.Patterns, Name: listNames(f.Patterns), TTL: f.Herd.Base.TTL}
	worth := min(14, 6-f.Herd.Log10P)
	c.say(worth, "%d of its keys expire within %s, the next of them at %s", f.Herd.Keys, dur(f.Herd.Largest.To.Sub(f.Herd.Largest.From)), a.when(f.Herd.Next.From))
	if !f.Herd.BornFrom.IsZero() {
		c.say(1, "they were written within %s at %s, with a TTL of %s", dur(f.Herd.BornTo.Sub(f.Herd.BornFrom)), a.when(f.Herd.BornFrom), dur(c.TTL))
		for _, e := range a.Events {
			if since := f.Herd.BornFrom.Sub(e.At); e.Kind != Outage && since > -30*time.Second && since < 5*time.Minute {
				c.say(4, "that follows the %s at %s", e.Kind, a.when(e.At))
				break
			}
		}
	}
	out := []Suspect{c}
	for i := range a.jobs {
		out = append(out, a.writer(s, &a.jobs[i], c)...)
	}
	return out
}

// writer weighs a job as the one that wrote a herd of keys.
func (a *analyser) writer(s *subject, j *job, keys Suspect) []Suspect {
	f := s.keys
	var out []Suspect
	for i := range a.groups {
		k := &a.groups[i]
		if k.cache != s.cache || k.Pattern != f.Subject {
			continue
		}
		ttl, share, ok := k.bornBy(j)
		if !ok || k.Base.TTL == 0 && f.Herd.Spacing == 0 {
			continue
		}
		c := j.newSuspect(&subject{words: patternWords(k.words)}, WarmUp)
		c.Cache, c.Patterns, c.TTL = k.cache, []string{k.Pattern}, ttl
		c.Name += " writes " + k.Pattern
		c.reasons = append(c.reasons, keys.reasons...)
		c.Nats += keys.Nats
		chance := 1.0
		if j.interval > 0 {
			chance = min(1, 20/j.interval.Seconds())
		}
		teeth := float64(min(len(f.Herd.Teeth), 4))
		c.say(-teeth*math.Log(chance)-2, "%.0f %% of them were written at one of its fires, with a TTL of %s", 100*share, dur(ttl))
		if f.Herd.Spacing > 0 && j.interval > 0 && (f.Herd.Spacing-j.interval).Abs() < j.interval/50+time.Second {
			c.say(4, "it fires every %s, as often as the keys die", dur(j.interval))
		}
		out = append(out, c)
	}
	return out
}

// patternWords makes a vocabulary of a key pattern.
func patternWords(list []string) vocabulary {
	v := vocabulary{}
	for _, w := range list {
		v[w] = 1
	}
	return v
}

// entryOf is the first entry of a suspect, for its place.
func entryOf(c *Suspect) *cronlint.Entry {
	if len(c.Entries) == 0 {
		return nil
	}
	return c.Entries[0]
}
