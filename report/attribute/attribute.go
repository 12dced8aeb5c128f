package attribute

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// Attribute weighs the suspects of every herd in the evidence: those of the
// query log, or, where no log was given, those of the caches. It changes
// nothing of what it is given and costs about herds x (patterns + schedules).
func Attribute(e Evidence) *Result {
	a := newAnalyser(e)
	for i := range a.subjects {
		a.out.Verdicts = append(a.out.Verdicts, a.judge(&a.subjects[i]))
	}
	a.join()
	a.findings()
	a.outcome()
	return a.out
}

// An analyser holds the evidence in the form in which it is weighed.
type analyser struct {
	Evidence
	zone     *time.Location
	subjects []subject
	groups   []keyGroup
	jobs     []job
	policies []policy
	out      *Result
}

func newAnalyser(e Evidence) *analyser {
	a := &analyser{Evidence: e, zone: cmp.Or(e.Zone, time.UTC), out: &Result{}}
	a.Events = slices.Clone(e.Events)
	slices.SortFunc(a.Events, func(x, y Event) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Kind, y.Kind)) })
	a.groups = a.keyGroups()
	if e.Lint != nil {
		a.jobs = a.schedules()
		a.policies = retryPolicies(e.Lint)
	}
	a.subjects = a.findSubjects()
	return a
}

// judge gives the verdict on one herd.
func (a *analyser) judge(s *subject) Verdict {
	var all []Suspect
	switch {
	case s.cache >= 0:
		all = a.cacheSuspects(s)
	case s.missing:
		all = []Suspect{missingRow(s)}
	case s.comb == nil:
		all = a.onceSuspects(s)
	default:
		all = slices.Concat(a.combGeneric(s), a.ttlSuspects(s), a.jobSuspects(s), a.retrySuspects(s))
	}
	return a.verdict(s, all)
}

// outcome is the answer as a whole.
func (a *analyser) outcome() {
	r := a.out
	recurring, once := 0, 0
	for i := range a.subjects {
		switch s := &a.subjects[i]; {
		case s.severity < rule.Warning || r.Verdicts[i].Same >= 0:
		case s.once():
			once++
		default:
			recurring++
		}
	}
	switch {
	case a.Log == nil && len(a.Caches) == 0:
		r.Outcome, r.Why = NothingGiven, "no query log and no cache was given: there is nothing to attribute"
	case recurring > 0:
		r.Outcome, r.Why = Herd, plural(recurring, "herd", "herds")+" that harm"
		if recurring == 1 {
			r.Why = "1 herd that harms"
		}
	case once > 0:
		r.Outcome, r.Why = Once, "no herd that comes back; "+plural(once, "burst", "bursts")+" that came once"
	case a.Log != nil && a.Log.Undecided != "":
		r.Outcome, r.Why = TooShort, "too short to judge: "+a.Log.Undecided
	case a.Log == nil && !a.judged():
		r.Outcome, r.Why = TooShort, "too few keys with a TTL to judge"
	case a.Log != nil:
		span := a.Log.To.Sub(a.Log.From)
		r.Outcome = NoHerd
		r.Why = fmt.Sprintf("no herd in %s of log; a herd shows after about 3 of its periods, so only those faster than %s can be excluded", dur(span), dur(span/3))
	default:
		r.Outcome, r.Why = NoHerd, "no herd among the keys"
	}
}

// judged says whether any group of keys was large enough to be judged.
func (a *analyser) judged() bool {
	for _, c := range a.Caches {
		if c.Analysis.Total.Judged {
			return true
		}
	}
	return false
}
