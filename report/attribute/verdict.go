package attribute

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb"
)

const (
	mostSuspects = 6
	mostCleared  = 20
	worthNaming  = 12.0 // nats below the best from which a suspect counts as cleared
	shortTrain   = 6    // fewer teeth are told as a doubt

	nearlyAsWell = " fits nearly as well"
)

// verdict ranks the suspects of a herd.
func (a *analyser) verdict(s *subject, all []Suspect) Verdict {
	v := Verdict{Finding: s.finding, Cache: s.cache, Same: -1}
	slices.SortStableFunc(all, func(x, y Suspect) int {
		return cmp.Or(cmp.Compare(y.Nats, x.Nats), cmp.Compare(order(x.Kind), order(y.Kind)), cmp.Compare(x.Name, y.Name))
	})
	a.rank(s, &v, all)
	if len(v.Suspects) == 0 || v.Suspects[0].Nats < enough {
		v.Suspects = slices.Insert(v.Suspects, 0, unknown())
	}
	for i := range v.Suspects {
		v.Suspects[i].finish()
	}
	for i := range v.Cleared {
		c := &v.Cleared[i]
		c.finish()
		if len(c.Against) == 0 {
			c.Against = []string{"it explains the teeth far less well than the first suspect"}
		}
		if c.Name == "" {
			c.Against[0] = c.noun() + ": " + c.Against[0]
		}
	}
	v.Tied = len(v.Suspects) > 1 && v.Suspects[0].Nats-v.Suspects[1].Nats < near && v.Suspects[0].Kind != Unknown
	v.Missing = a.missing(s, &v)
	a.trust(s, &v, all)
	return v
}

// order breaks ties between kinds: the plainer explanation first.
func order(k Kind) int {
	return slices.Index([]Kind{ReplicaJob, Cron, TTL, HotKey, WarmUp, Retry, ColdStart, MissingKey, Unknown}, k)
}

// rank puts each suspect where it belongs: those that fit, and those that are
// cleared. A nameless suspect steps back behind a named one of its kind that
// fits as well.
func (a *analyser) rank(s *subject, v *Verdict, all []Suspect) {
	best, said := 0.0, map[string]bool{}
	for i := range all {
		c := &all[i]
		if said[c.key()] {
			continue
		}
		generic := c.Name == "" && c.LogAlone
		fits := !c.refuted() && c.Nats > 0 && c.Nats > best-worthNaming && len(v.Suspects) < mostSuspects
		switch {
		case fits && generic && v.has(c.Kind):
			continue
		case fits:
			best = max(best, c.Nats)
			v.Suspects = append(v.Suspects, *c)
		case !fits && v.hasEntry(c):
			continue // it is a suspect in another part
		case generic && (c.Kind != Cron && c.Kind != TTL || a.names(c.Kind, all)):
			continue // of a kind that somebody with a name stands for
		case len(c.Patterns) > 0 && len(c.Entries) == 0 && !s.charged(c):
			continue // keys that nobody would think of
		case len(v.Cleared) < mostCleared:
			v.Cleared = append(v.Cleared, *c)
		}
		said[c.key()] = true
	}
}

// key tells suspects apart that are one for people: an entry that warms several
// groups is the best of them.
func (c *Suspect) key() string {
	if e := entryOf(c); e != nil {
		return string(c.Kind) + place(e)
	}
	return string(c.Kind) + "\x00" + c.Name
}

// has says whether a kind is among the suspects.
func (v *Verdict) has(k Kind) bool {
	return slices.ContainsFunc(v.Suspects, func(c Suspect) bool { return c.Kind == k })
}

// hasEntry says whether the entries of c are among the suspects that fit.
func (v *Verdict) hasEntry(c *Suspect) bool {
	e := entryOf(c)
	return e != nil && slices.ContainsFunc(v.Suspects, func(o Suspect) bool { return slices.Contains(o.Entries, e) })
}

// names says whether a source names a suspect of this kind.
func (a *analyser) names(k Kind, all []Suspect) bool {
	return slices.ContainsFunc(all, func(c Suspect) bool { return c.Name != "" && c.Kind == k })
}

// unknown is the last resort.
func unknown() Suspect {
	c := Suspect{Kind: Unknown, Cache: -1, LogAlone: true}
	c.add(0, "nothing that was given explains it")
	return c
}

// finish writes the words of a suspect.
func (c *Suspect) finish() {
	c.settle()
	if c.Kind == Unknown {
		c.Score = 0.2
	}
	c.Why, c.RefutedBy = c.phrase(), c.refutation()
	if c.LogAlone && c.Kind != Unknown {
		c.Why = "from the log alone: " + c.Why
	}
}

// phrase says what a suspect is; it completes "consistent with".
func (c *Suspect) phrase() string {
	ttl := ""
	if c.TTL > 0 {
		ttl = " with a TTL of " + dur(c.TTL)
	}
	name := c.Name
	switch c.Kind {
	case TTL:
		if name == "" {
			return "keys that were written together" + ttl + " and die together"
		}
		return name + ": keys" + ttl + " that die together"
	case HotKey:
		if name == "" {
			return "one hot key" + ttl + " that every reader rebuilds"
		}
		if strings.Contains(name, "*") {
			return "a hot key among " + name + ttl + " that every reader rebuilds"
		}
		return "the hot key " + name + ttl + " that every reader rebuilds"
	case WarmUp:
		if name == "" {
			return "a schedule that refills a cache with one TTL"
		}
		return "a schedule that refills a cache (" + name + ")" + ttl
	case ColdStart:
		if name == "" {
			return "an empty cache, after a deploy, a flush or a restart"
		}
		return "an empty cache (" + name + ")"
	case Cron:
		return "the schedule" + named(" ", name)
	case ReplicaJob:
		return "one job on every replica" + named(": ", name)
	case Retry:
		return "attempts in step" + named(", by ", name)
	case MissingKey:
		return "rows that do not exist and whose absence is not cached"
	}
	return "nothing that was given explains it"
}

// noun names the kind of a suspect without a name.
func (c *Suspect) noun() string {
	switch c.Kind {
	case Cron:
		return "a schedule"
	case TTL:
		return "keys with one TTL"
	}
	return strings.ReplaceAll(string(c.Kind), "_", " ")
}

// named puts a name behind what joins it to the words before; "" where there is
// none.
func named(join, name string) string {
	if name == "" {
		return ""
	}
	return join + name
}

// refutation is the observation that would refute a suspect.
func (c *Suspect) refutation() string {
	switch c.Kind {
	case TTL:
		return "teeth that keep their period when the TTL of these keys is changed"
	case HotKey:
		return "teeth that stay as tall when one caller alone may refill this value"
	case WarmUp:
		return "teeth that stay when the job is off"
	case ColdStart:
		return "no deploy, flush, restart or eviction of the cache at this time"
	case Cron:
		return "a tooth at a time when it does not fire, or teeth that stay when it is off"
	case ReplicaJob:
		return "teeth that come from all clients still when the job runs on one replica"
	case Retry:
		return "teeth that go on although every attempt succeeds"
	case MissingKey:
		return "rows that exist by now, or a caller that is meant to poll"
	}
	return "a schedule, a TTL or a retry delay of this period in a source that was not given"
}

// trust says how far a verdict may be trusted, and why no further.
func (a *analyser) trust(s *subject, v *Verdict, all []Suspect) {
	best := v.Best()
	if best.Kind == Unknown {
		v.Doubts = append(v.Doubts, "no suspect explains it")
		return
	}
	margin := best.Nats
	for i := range v.Suspects[1:] {
		if c := &v.Suspects[i+1]; c.Kind != best.Kind {
			margin = best.Nats - c.Nats
			break
		}
	}
	sources := a.speakers(s, best)
	v.Confidence = Weak
	switch {
	case best.Nats >= 15 && margin >= 6 && sources > 1:
		v.Confidence = Strong
	case best.Nats >= 8 && margin >= near:
		v.Confidence = Fair
	}
	if sources < 2 {
		v.Doubts = append(v.Doubts, "only one source speaks for it")
	}
	if margin < near {
		v.Doubts = append(v.Doubts, v.Suspects[1].phrase()+nearlyAsWell)
	}
	if s.comb != nil && s.teeth() < shortTrain {
		v.Doubts = append(v.Doubts, fmt.Sprintf("%d teeth only: a longer log would tell a drift from a fixed place on the clock", s.teeth()))
		v.Confidence = min(v.Confidence, Fair)
	}
	if s.comb != nil && s.lock == comb.Undetermined {
		v.Doubts = append(v.Doubts, fmt.Sprintf("in %s of log the teeth could keep the wall clock or drift", dur(seconds(s.span))))
		if sources < 2 {
			v.Confidence = min(v.Confidence, Fair)
		}
	}
	if slices.ContainsFunc(all, func(c Suspect) bool { return c.farSnapshot && c.Name != "" && !c.refuted() }) && !best.fits {
		v.Doubts = append(v.Doubts, "the cache was read too long before or after the log to compare the phases")
	}
}

// speakers counts the sources that speak for a suspect.
func (a *analyser) speakers(s *subject, c *Suspect) int {
	n := 1
	if c.fits {
		n++
	}
	if len(c.Entries) > 0 && (s.log != nil || c.fits) {
		n++
	}
	if c.Setting != nil {
		n++
	}
	if c.Kind == ColdStart && !c.LogAlone {
		n++
	}
	if slices.ContainsFunc(c.For, func(t string) bool { return strings.HasPrefix(t, "the first tooth") }) {
		n++
	}
	return n
}

// missing says what was not given and could decide.
func (a *analyser) missing(s *subject, v *Verdict) []Missing {
	var out []Missing
	ask := func(k SourceKind, format string, args ...any) {
		out = append(out, Missing{k, fmt.Sprintf(format, args...)})
	}
	could := func(kinds ...Kind) bool {
		return v.Best().Kind == Unknown || slices.ContainsFunc(v.Suspects, func(c Suspect) bool { return slices.Contains(kinds, c.Kind) })
	}
	if s.cache >= 0 && a.Log != nil {
		return nil
	}
	if s.cache >= 0 {
		ask(SourceLog, "no query log was given: whether the database feels it (herdscan report --log slow.log ...)")
	} else if len(a.Caches) == 0 && could(TTL, HotKey, WarmUp, ColdStart) {
		ask(SourceCache, "no cache was given: %s (herdscan report --redis URL ...)", s.wouldTell(a))
	}
	if a.Lint == nil && could(Cron, ReplicaJob, WarmUp) {
		ask(SourceSchedule, "no schedules were given: which job fires then (herdscan report ... /etc/crontab deploy/)")
	}
	if a.Lint == nil && could(Retry) {
		ask(SourceRetry, "no configuration was given: which client waits that long before it tries again (herdscan report ... config/)")
	}
	if len(a.Events) == 0 && could(TTL, ColdStart) && s.cache < 0 && s.startsInside() {
		ask(SourceEvents, "no event was given: was there a deploy, a flush or a restart at %s? (--event 'deploy@...')", a.when(s.time(s.onsets[0])))
	}
	if s.missing && v.Best().Nats <= enough {
		ask(SourceLog, "the log has no row counts: a slow log with long_query_time=0 would tell whether the rows exist")
	}
	return out
}

// wouldTell says what a look at the cache would decide.
func (s *subject) wouldTell(a *analyser) string {
	if s.comb == nil {
		return "which keys were written in that moment, and when they die together"
	}
	next := s.onsets[len(s.onsets)-1] + s.period
	return fmt.Sprintf("which keys expire at %s and each %s after it", a.when(s.time(next)), dur(s.comb.Period))
}

// startsInside says whether the teeth begin after the log does.
func (s *subject) startsInside() bool {
	return len(s.onsets) > 0 && (s.comb == nil || s.onsets[0] > 1.2*s.period)
}
