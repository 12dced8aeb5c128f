package timing

import "github.com/herdscan/herdscan/cronlint/lint"

// analysis holds what several rules need of one run, made once.
type analysis struct {
	pass      *lint.Pass
	all       []*subject
	calendars []*calendar // one a lane of each group
	moves     *Plan
	systemic  map[*subject]int // the most jobs that regularly start with this one
}

// of returns the analysis of a run; it is made anew when the run is another one.
func (a *analysis) of(p *lint.Pass) *analysis {
	if a.pass == p {
		return a
	}
	*a = analysis{pass: p, all: subjects(p), systemic: map[*subject]int{}}
	for _, lane := range lanes(startsTogether(a.all)) {
		c := newCalendar(lane, p.Options.Time().Year())
		a.calendars = append(a.calendars, c)
		teeth := c.gather()
		for i := range teeth {
			for _, j := range c.jobs(&teeth[i]) {
				s := c.group[j]
				a.systemic[s] = max(a.systemic[s], teeth[i].n)
			}
		}
	}
	return a
}

// startsTogether leaves out the jobs whose start is spread over time, and the
// minute ticks of other schedulers.
func startsTogether(group []*subject) (kept []*subject) {
	for _, s := range group {
		if !s.spread() && !s.script.tick {
			kept = append(kept, s)
		}
	}
	return kept
}

// plan is the plan of the run.
func (a *analysis) plan() *Plan {
	if a.moves == nil {
		a.moves = NewPlan(a.pass, false)
	}
	return a.moves
}
