package attribute

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

const mostCharges = 5 // cleared suspects of one herd that are findings

// findings says what is true of the sources rather than of a herd.
func (a *analyser) findings() {
	for i := range a.out.Verdicts {
		if a.out.Verdicts[i].Same >= 0 || a.subjects[i].severity < rule.Warning {
			continue
		}
		a.disagreement(i)
		a.wanting(i)
		a.acquittals(i)
	}
}

func (a *analyser) found(id string, i int, format string, args ...any) *Finding {
	a.out.Findings = append(a.out.Findings, Finding{Rule: id, Severity: rule.Note, Subject: a.subjects[i].title(), Message: fmt.Sprintf(format, args...), Verdict: i})
	return &a.out.Findings[len(a.out.Findings)-1]
}

// title names a herd.
func (s *subject) title() string {
	if s.log != nil {
		return s.log.Subject
	}
	return s.keys.Subject
}

// disagreement reports HS601: the log speaks for keys that die together, and
// the cache shows such keys spread, or dying together by another clock; or a
// schedule would fit in another zone.
func (a *analyser) disagreement(i int) {
	v, s := &a.out.Verdicts[i], &a.subjects[i]
	if best := v.Best(); (best.Kind == TTL || best.Kind == HotKey) && !best.fits && s.comb != nil {
		if name, hours := a.otherClock(s); name != "" {
			a.found("HS601", i, "the keys of %s would die in the teeth if the log were about %+g h later: is the log's zone right (--tz)?", name, hours)
		} else if names := s.scattered(v); best.Kind == TTL && len(names) > 0 {
			a.found("HS601", i, "the log shows keys that die together, the cache shows %s spread over their TTL: another cache, or a snapshot from another time?", listNames(names))
		}
	}
	for k := range a.jobs {
		if hours, ok := a.otherZone(s, &a.jobs[k]); ok {
			f := a.found("HS601", i, "%s fires at every tooth if its clock is %+g h from %s: is the zone right (--tz, CRON_TZ)?", place(a.jobs[k].entries[0]), hours, a.zone)
			f.Locations = append(f.Locations, a.jobs[k].entries[0].Location())
		}
	}
}

// scattered lists the keys that are named like the statements and do not die in the
// teeth.
func (s *subject) scattered(v *Verdict) (names []string) {
	for _, list := range [][]Suspect{v.Suspects, v.Cleared} {
		for i := range list {
			c := &list[i]
			if nats, _ := s.words.match(splitWords(c.Name)); nats > 0 && c.Kind == TTL && c.spread {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// otherClock looks for the difference of zones, a whole hour rather than a half
// or a quarter, by which the log would have to be moved for keys that are named
// like its statements to die in its teeth. It looks only where the cache seems
// not to have been read while the log was written. Short periods fit more than
// one zone, so the answer is about right.
func (a *analyser) otherClock(s *subject) (name string, hours float64) {
	for i := range a.groups {
		k := &a.groups[i]
		at := k.snapshot.Sub(s.start).Seconds()
		if nats, _ := s.words.match(k.words); nats == 0 || at > -s.period && at < s.span+s.period {
			continue
		}
		for _, q := range zoneSteps() {
			moved := *s
			moved.start = s.start.Add(time.Duration(q) * 15 * time.Minute)
			if then := at - float64(q)*900; then < 0 || then > s.span+s.period {
				continue
			}
			if f, ok := k.phase(&moved, 0); ok && f.nats >= 2*faint {
				return k.Pattern, float64(q) / 4
			}
		}
	}
	return "", 0
}

// zoneSteps are the differences that two zones can have, in quarter hours: whole
// hours first, the small ones first.
func zoneSteps() (steps []int) {
	for _, by := range []int{4, 2, 1} {
		for n := by; n <= 56; n += by {
			if by == 4 || n%(2*by) != 0 {
				steps = append(steps, n, -n)
			}
		}
	}
	return steps
}

// otherZone looks for a whole number of quarter hours by which a schedule of
// some hours would have to be moved to fit a comb that it does not fit.
func (a *analyser) otherZone(s *subject, j *job) (hours float64, ok bool) {
	if s.comb == nil || j.counts || j.interval < 2*time.Hour || math.Abs(j.interval.Seconds()/s.period-1) > 0.01 || s.teeth() < 3 {
		return 0, false
	}
	if _, met, _ := s.lagTo(j); 2*met > s.teeth() {
		return 0, false
	}
	for _, q := range zoneSteps() {
		moved := *j
		moved.fires = nil
		for _, t := range j.fires {
			moved.fires = append(moved.fires, t.Add(time.Duration(q)*15*time.Minute))
		}
		if lag, met, _ := s.lagTo(&moved); met == s.teeth() && lag < 30 {
			return float64(-q) / 4, true
		}
	}
	return 0, false
}

// wanting reports HS602: what was not given and could decide.
func (a *analyser) wanting(i int) {
	v := &a.out.Verdicts[i]
	if len(v.Missing) == 0 || v.Confidence == Strong {
		return
	}
	var texts []string
	for _, m := range v.Missing {
		texts = append(texts, m.Text)
	}
	a.found("HS602", i, "%s", strings.Join(texts, "; "))
}

// acquittals reports HS603: suspects that were looked at and do not fit.
func (a *analyser) acquittals(i int) {
	n := 0
	for _, c := range a.out.Verdicts[i].Cleared {
		if c.Name == "" || len(c.Against) == 0 || n == mostCharges || !a.subjects[i].charged(&c) {
			continue
		}
		n++
		f := a.found("HS603", i, "not %s: %s", c.Name, c.Against[0])
		f.Locations = c.Locations
	}
}

// charged says whether somebody could have thought of a suspect: it is a job or
// a policy, or its name is like the statements', or its keys die with the teeth.
func (s *subject) charged(c *Suspect) bool {
	if len(c.Entries) > 0 || c.Setting != nil || c.fits {
		return true
	}
	nats, _ := s.words.match(splitWords(c.Name))
	return nats > 0
}
