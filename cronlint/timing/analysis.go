package timing

import (
	"slices"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// analysis holds what several rules need of one run, made once.
type analysis struct {
	pass      *lint.Pass
	all       []*subject
	years     years
	calendars []*calendar // one a lane of each group
	moves     *Plan
	members   map[*subject]bool // of the collisions that HS110 tells of
	after     map[*calendar][]float64
}

// of returns the analysis of a run; it is made anew when the run is another one.
func (a *analysis) of(p *lint.Pass) *analysis {
	if a.pass == p {
		return a
	}
	*a = analysis{pass: p, all: subjects(p), years: years{}, members: map[*subject]bool{}, after: map[*calendar][]float64{}}
	for _, lane := range lanes(startsTogether(a.all)) {
		c := newCalendar(lane, p.Options.Time().Year(), a.years)
		a.calendars = append(a.calendars, c)
		for _, g := range c.gatherings(p.Options.Budget) {
			for _, j := range slices.Concat(c.jobs(&g.tooth), g.rare) {
				a.members[c.group[j]] = true
			}
		}
	}
	return a
}

// collides reports whether HS110 tells of the job.
func (a *analysis) collides(s *subject) bool {
	return a.members[s] && enabled(a.pass, &ruleHS110)
}

// enabled reports whether a rule of this package that needs no switch is judged by.
func enabled(p *lint.Pass, r *ruleDoc) bool { return p.Options.Enabled(&lint.Check{Rule: r}) }

// loadsAfter are the loads of a calendar by job, once the plan is carried out.
func (a *analysis) loadsAfter(c *calendar) []float64 {
	if a.after[c] == nil {
		a.after[c] = newCalendar(a.plan().placed(c.group), c.year, a.years).byJob()
	}
	return a.after[c]
}

// startsTogether leaves out the jobs whose start is spread over time, and the
// minute ticks of other schedulers.
func startsTogether(group []*subject) (kept []*subject) {
	for _, s := range group {
		if s.onTheMinute() {
			kept = append(kept, s)
		}
	}
	return kept
}

func (s *subject) onTheMinute() bool { return !s.spread() && !s.script.tick }

// plan is the plan of the run.
func (a *analysis) plan() *Plan {
	if a.moves == nil {
		a.moves = newPlan(a.pass, a.all, a.years, false)
	}
	return a.moves
}
