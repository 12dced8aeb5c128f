package attribute

import (
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/cronlint/retry"
)

// A policy is one retry policy.
type policy struct {
	setting *cronlint.Setting
	*retry.Policy
	words []string
}

func retryPolicies(res *cronlint.Result) []policy {
	var out []policy
	for _, s := range res.Settings {
		if p, ok := s.Value.(*retry.Policy); ok && p.Delay > 0 {
			out = append(out, policy{s, p, splitWords(s.Subject)})
		}
	}
	return out
}

// random says whether a policy's waits differ so much that attempts made
// together do not come back together.
func (p *policy) random() bool {
	return p.Shape == retry.Random || p.Jitter == retry.Jittered && p.JitterLow < 0.7
}

func (a *analyser) genericRetry(s *subject) Suspect {
	c := newGeneric(Retry)
	c.add(s.timing(), "")
	a.weighStorm(s, &c)
	return c
}

// retrySuspects weighs every retry policy as the cause of a comb.
func (a *analyser) retrySuspects(s *subject) []Suspect {
	var out []Suspect
	for i := range a.policies {
		p := &a.policies[i]
		c := p.newSuspect(s)
		c.Delta = seconds(s.period - p.Delay.Seconds())
		a.weighDelay(s, &c, p)
		if !c.refuted() {
			a.weighStorm(s, &c)
		}
		out = append(out, c)
	}
	return out
}

func (p *policy) newSuspect(s *subject) Suspect {
	c := Suspect{Kind: Retry, Name: p.setting.Subject, Cache: -1, Setting: p.setting}
	c.Locations = []cronlint.Location{p.setting.File.Location(p.setting.Span)}
	if nats, alike := s.words.match(p.words); nats > 0 {
		c.say(nats, "its name is like the statements (%s)", list(alike, 3))
	}
	return c
}

// weighDelay weighs the wait of a policy against the period: an attempt and
// the wait after it make one period.
func (a *analyser) weighDelay(s *subject, c *Suspect, p *policy) {
	wait := p.Delay.Seconds()
	period := s.period
	if s.storm && s.log.Spacing > 0 {
		period = s.log.Spacing.Seconds()
	}
	rest := period - wait
	most := max(1, 0.2*wait) + 2*s.slowest + s.slack() + s.res
	growing := p.Shape == retry.Exponential || p.Shape == retry.Linear || p.Shape == retry.Steps
	switch {
	case p.random():
		c.refute("its waits are random: attempts made together do not come back together")
	case growing && !p.Constant && s.log.Growth <= 1.3 && (p.Max == 0 || math.Abs(period-p.Max.Seconds()) > most):
		c.refute("its waits grow, the teeth come every %s", dur(s.comb.Period))
	case growing && s.log.Growth <= 1.3:
		c.say(s.timing(), "its waits grow to %s, then stay", dur(p.Max))
	case rest < -s.slack()-s.res:
		c.refute("its wait of %s is longer than the period of %s", dur(p.Delay), dur(seconds(period)))
	case rest > most:
		c.refute("its wait of %s leaves %s of the period: more than an attempt takes", dur(p.Delay), dur(seconds(rest)))
	default:
		c.say(s.timing()+1, "each period is its wait of %s plus %s for an attempt", dur(p.Delay), dur(seconds(max(rest, 0))))
	}
}

// weighStorm weighs what a storm of retries must show: it begins with an
// outage, it shrinks, and it ends.
func (a *analyser) weighStorm(s *subject, c *Suspect) {
	if s.period > 180 {
		c.say(-5, "a period of %s is long for a retry", dur(s.comb.Period))
	}
	first, last := s.onsets[0], s.onsets[len(s.onsets)-1]
	if last-first < s.span/2 {
		c.say(2, "the waves last %s of a log of %s", dur(seconds(last-first)), dur(seconds(s.span)))
	} else {
		c.say(-6, "the teeth go on for %s: retries end", dur(seconds(last-first)))
	}
	if s.shrinks() {
		c.say(2, "each wave is smaller, as some succeed")
	} else {
		c.say(-3, "the waves do not shrink")
	}
	if s.storm {
		c.say(6, "the log shows the outage before them and the same statements in each")
	}
	switch at, kind := a.outageBefore(s); {
	case kind != "":
		c.say(4, "the waves begin after the %s", a.outage(at, kind))
	case a.knowsOutages():
		c.say(-3, "no outage that is known comes before them")
	case !s.storm:
		c.say(-4, "no outage is known before them")
	}
}

// shrinks says whether the last third of the teeth is far smaller than the first.
func (s *subject) shrinks() bool {
	n := len(s.heights) / 3
	if n == 0 {
		return false
	}
	return median(s.heights[len(s.heights)-n:]) < 0.67*median(s.heights[:n])
}

// outageBefore returns the outage or restart just before the first tooth.
func (a *analyser) outageBefore(s *subject) (at time.Time, kind EventKind) {
	first := s.time(s.onsets[0])
	reach := max(seconds(3*s.period), time.Minute)
	if !s.log.Outage.IsZero() && first.Sub(s.log.Outage).Abs() < reach {
		return s.log.Outage, Outage
	}
	for _, e := range a.Events {
		if e.Kind != Outage && e.Kind != Restart {
			continue
		}
		end := e.At
		if e.To.After(end) {
			end = e.To
		}
		if first.After(e.At.Add(-reach/4)) && first.Sub(end) < reach {
			return e.At, e.Kind
		}
	}
	return time.Time{}, ""
}

// outage names what outageBefore found: the log tells when it ended, the user
// when it began.
func (a *analyser) outage(at time.Time, kind EventKind) string {
	if slices.ContainsFunc(a.Events, func(e Event) bool { return e.Kind == kind && e.At.Equal(at) }) {
		return string(kind) + " at " + a.when(at)
	}
	return string(kind) + " that ended at " + a.when(at)
}

// knowsOutages says whether the user named any.
func (a *analyser) knowsOutages() bool {
	for _, e := range a.Events {
		if e.Kind == Outage {
			return true
		}
	}
	return false
}
