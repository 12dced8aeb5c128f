package timing

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A Move is a new time for one job.
type Move struct {
	Entry *lint.Entry
	To    string     // the schedule to write
	Edit  *lint.Edit // with the edits of the jobs that keep their distance to it

	schedule *schedule.Schedule // To, read and proved
}

// A Peak is the busiest minute of a year.
type Peak struct {
	Starts float64   // weights of the jobs that start in it; a job weighs 1 unless said
	At     time.Time // such a minute, in UTC
}

// A GroupPlan is what a plan says about the jobs that share one resource. See
// [Loads] for the whole load of a group.
type GroupPlan struct {
	Group string
	Jobs  int
	Moves []Move
}

// A Plan chooses minutes for jobs.
type Plan struct {
	Groups []GroupPlan
	moves  map[*lint.Entry]*Move
}

// NewPlan finds a minute for every job that violates a rule: it stands at
// minute 0, steps from minute 0, or starts together with others. Jobs that do
// not stay where they are, unless all is true: then every job is placed anew.
//
// A job keeps its hours and its days; only the minute changes. The choice
// starts from a hash of the job's identity and o.Seed, so it is the same
// everywhere, and takes from there the minute with the least load, the
// longest job first. Loads of all days are put on top of each other.
func NewPlan(p *lint.Pass, all bool) *Plan { return newPlan(p, subjects(p), years{}, all) }

func newPlan(p *lint.Pass, jobs []*subject, known years, all bool) *Plan {
	plan := &Plan{moves: map[*lint.Entry]*Move{}}
	year := p.Options.Time().Year()
	for _, group := range groups(jobs) {
		pl := newPlanner(group, year, p.Options.Seed, known)
		pl.run(all)
		g := GroupPlan{Group: group[0].Group, Jobs: len(group), Moves: pl.moves()}
		for i := range g.Moves {
			plan.moves[g.Moves[i].Entry] = &g.Moves[i]
		}
		plan.Groups = append(plan.Groups, g)
	}
	return plan
}

// move is the new time of an entry, or nil.
func (p *Plan) move(e *lint.Entry) *Move { return p.moves[e] }

// moves are the jobs that stand elsewhere now. The edits of a chain belong
// together: each holds the others.
func (p *planner) moves() (moves []Move) {
	edits := map[*subject]*lint.Edit{}
	for _, s := range p.group {
		if text := p.text[s]; text != s.Raw {
			edits[s] = s.edit(text)
			edits[s].Safe, edits[s].Why = p.doubts[s] == "", p.doubts[s]
		}
	}
	for _, s := range p.group {
		if edits[s] == nil {
			continue
		}
		whole := *edits[s]
		for _, other := range p.runs[s] {
			if o := edits[other]; o != nil && other != s {
				whole.With = append(whole.With, *o)
			}
		}
		moves = append(moves, Move{Entry: s.Entry, To: p.text[s], Edit: &whole, schedule: p.at[s]})
	}
	return moves
}

// planner holds where each job of a group stands, and the load that makes.
type planner struct {
	seed  string
	year  int
	group []*subject
	runs  map[*subject][]*subject // the jobs that move together: a chain, or one alone
	// doubts say why a move may not be what a human wants; the doubt about one
	// job of a chain is about all.
	doubts map[*subject]string
	at     map[*subject]*schedule.Schedule
	text   map[*subject]string
	load   [minutesPerDay]float64
	years  years
	proofs map[proof]*schedule.Schedule
}

// A proof is a schedule and what it is to be rewritten to.
type proof struct {
	dialect  schedule.Dialect
	zone     *time.Location
	from, to string
}

// proved is the schedule of a job rewritten to text, nil if that is not the same
// but for the minute. Many jobs have the same schedule: each is proved once.
func (p *planner) proved(s *subject, text string) *schedule.Schedule {
	k := proof{s.Dialect, s.Schedule.Zone, s.Schedule.Text, text}
	known, ok := p.proofs[k]
	if !ok {
		known = proved(s.Schedule, text)
		p.proofs[k] = known
	}
	return known
}

func newPlanner(group []*subject, year int, seed string, known years) *planner {
	p := &planner{
		seed: seed, year: year, group: group, runs: chains(group), years: known, proofs: map[proof]*schedule.Schedule{},
		at: map[*subject]*schedule.Schedule{}, text: map[*subject]string{}, doubts: map[*subject]string{},
	}
	near := closeBy(siblings(group), p.runs)
	for _, s := range group {
		if p.runs[s] == nil {
			p.runs[s] = []*subject{s}
		}
		p.at[s], p.text[s] = s.Schedule, s.Raw
		p.put(s, s.weight())
		if !s.canMove() {
			continue
		}
		why := cmp.Or(s.doubt(), near[s])
		for _, member := range p.runs[s] {
			p.doubts[member] = cmp.Or(p.doubts[member], why)
		}
	}
	return p
}

// put adds a job's load: from each start for as long as it runs. A negative
// weight takes it away. What does not start at the minute written has none.
func (p *planner) put(s *subject, weight float64) {
	if !s.onTheMinute() {
		return
	}
	at := p.at[s]
	for m := at.Minutes.Next(0); m >= 0; m = at.Minutes.Next(m + 1) {
		for d := range s.minutesLong() {
			p.load[(m+d)%minutesPerDay] += weight
		}
	}
}

// minutesLong is how many minutes a run takes, at least one.
func (s *subject) minutesLong() int {
	return min(max(1, int((s.Notes.Duration+time.Minute-1)/time.Minute)), minutesPerDay)
}

// planPasses bounds how often jobs that still start together are looked at again.
const planPasses = 8

// run places the jobs whose move is safe as if the others stayed, then the
// others: what is applied without asking does not hang on what is not.
func (p *planner) run(all bool) {
	for _, safe := range []bool{true, false} {
		p.stage(all, func(s *subject) bool { return safe == (p.doubts[s] == "") })
	}
}

// stage moves first the jobs that must move, then those that start together
// with others and can stand in a quieter minute, until none can. Only the jobs
// that may move are touched.
func (p *planner) stage(all bool, may func(*subject) bool) {
	var must []*subject
	idle := true
	for _, s := range p.group {
		if !s.canMove() || !may(s) {
			continue
		}
		idle = false
		if all || violates(s) {
			must = append(must, s)
		}
	}
	if idle {
		return
	}
	for _, s := range must {
		p.put(s, -s.weight()) // they don't stand in the way of each other
	}
	p.place(must, true)
	for range planPasses {
		crowded := slices.DeleteFunc(p.crowded(), func(s *subject) bool { return !may(s) })
		if !p.place(crowded, false) {
			return
		}
	}
}

// crowded are the jobs that start together with others, but for one of each
// set that may stay.
func (p *planner) crowded() (jobs []*subject) {
	from := map[*lint.Entry]*subject{} // where each job comes from
	placed := p.placed()
	for i, s := range placed {
		from[s.Entry] = p.group[i]
	}
	for _, lane := range lanes(startsTogether(placed)) {
		for _, s := range crowdedLane(newCalendar(lane, p.year, p.years)) {
			if s.canMove() && !everyMinute(s) {
				jobs = append(jobs, from[s.Entry])
			}
		}
	}
	return jobs
}

// crowdedLane are the jobs of sets that start together, but for one of each set:
// one that can't be moved, else the first.
func crowdedLane(c *calendar) (jobs []*subject) {
	marked := make([]bool, len(c.group))
	teeth := c.gather()
	for i := range teeth {
		t := &teeth[i]
		members := c.jobs(t)
		stays := slices.IndexFunc(members, func(j int) bool { return !c.group[j].canMove() || everyMinute(c.group[j]) })
		for k, j := range members {
			marked[j] = marked[j] || k != max(stays, 0)
		}
	}
	for j, s := range c.group {
		if marked[j] {
			jobs = append(jobs, s)
		}
	}
	return jobs
}

// everyMinute reports whether a job starts in all minutes: none is better.
func everyMinute(s *subject) bool { return s.Schedule.MinutesOfHour() == 1<<60-1 }

func (s *subject) canMove() bool {
	if s.pinned() || s.spread() || s.unit != nil || s.script.tick || minuteShape(s.Schedule).period == 0 {
		return false
	}
	switch s.Detail.(type) {
	case *job.Dependabot, *job.CodeLiteral, *job.Ansible, *job.Pipeline:
		return false // each has a better way than another constant
	}
	return s.planned || s.File.Text(s.Field) == s.Raw
}

// violates reports whether the job alone stands where everybody's jobs stand.
func violates(s *subject) bool {
	sh := minuteShape(s.Schedule)
	return sh.period > 1 && sh.phase == 0
}

// place finds a minute for each job, the longest first, and reports whether
// any moved. The load of jobs that must move has been taken away before.
func (p *planner) place(jobs []*subject, must bool) (moved bool) {
	slices.SortStableFunc(jobs, func(a, b *subject) int {
		return cmp.Or(cmp.Compare(b.minutesLong(), a.minutesLong()), cmp.Compare(a.Identity, b.Identity))
	})
	waiting := map[*subject]bool{}
	for _, s := range jobs {
		waiting[s] = must
	}
	done := map[*subject]bool{}
	for _, s := range jobs {
		if done[s] {
			continue
		}
		run := p.runs[s]
		for _, member := range run {
			done[member] = true
			if !waiting[member] {
				p.put(member, -member.weight())
			}
		}
		moved = p.shift(run, must) || moved
		for _, member := range run {
			p.put(member, member.weight())
		}
	}
	return moved
}

// shift moves the jobs of a run by the same number of minutes within their
// hours, so that order and gaps stay. Unless it must, it moves only to where
// the busiest minute is less busy than now.
func (p *planner) shift(run []*subject, must bool) bool {
	lo, hi, ok := p.room(run)
	if !ok {
		return false
	}
	now := p.cost(run, 0)
	best, bestCost, found := 0, cost{}, false
	for _, delta := range p.candidates(run, lo, hi) {
		c := p.cost(run, delta)
		if !must && c.peak >= now.peak || found && !c.less(bestCost) || !p.fits(run, delta) {
			continue
		}
		best, bestCost, found = delta, c, true
	}
	if !found {
		return false
	}
	for _, s := range run {
		sh := minuteShape(p.at[s])
		p.text[s] = sh.moved(p.text[s], sh.phase+best)
		p.at[s] = p.proved(s, p.text[s])
	}
	return true
}

// room is how far a run can be shifted without leaving an hour. It can't be
// when two members start together, or one must stay.
func (p *planner) room(run []*subject) (lo, hi int, ok bool) {
	lo, hi = -minutesPerDay, minutesPerDay
	for i, s := range run {
		sh := minuteShape(p.at[s])
		if !s.canMove() || i > 0 && firstStart(s) == firstStart(run[i-1]) {
			return 0, 0, false
		}
		lo, hi = max(lo, -sh.phase), min(hi, sh.period-1-sh.phase)
	}
	return lo, hi, true
}

// candidates are the shifts that a run may take, best liked first: from the
// minute that the first job would have on an empty machine upwards and around.
// Minutes that everybody uses come last.
func (p *planner) candidates(run []*subject, lo, hi int) (deltas []int) {
	sh := minuteShape(p.at[run[0]])
	var last []int
	start := preferred(p.seed, run[0], sh.period)
	for i := range sh.period {
		m := (start + i) % sh.period
		delta := m - sh.phase
		switch {
		case delta < lo || delta > hi || delta == 0:
		case sh.period == 60 && m%5 == 0:
			last = append(last, delta)
		default:
			deltas = append(deltas, delta)
		}
	}
	return append(deltas, last...)
}

// fits reports whether every member can be written with the shift, stays in
// its window, does not end up at minute 0, and does not come into or out of an
// hour that the clocks skip or repeat.
func (p *planner) fits(run []*subject, delta int) bool {
	for _, s := range run {
		sh := minuteShape(p.at[s])
		if sh.phase+delta == 0 {
			return false
		}
		moved := p.proved(s, sh.moved(p.text[s], sh.phase+delta))
		if moved == nil || !s.inWindow(moved) || s.meetsClockChange(moved, p.year) != s.meetsClockChange(s.Schedule, p.year) {
			return false
		}
	}
	return true
}

// preferred is the minute that a job would take on an empty machine.
func preferred(seed string, s *subject, period int) int {
	sum := sha256.Sum256([]byte(seed + "\x00" + s.Identity + "\x00" + s.Raw))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(period))
}

// cost orders shifts: the busiest minute the jobs would run in, then the sum
// of all of them.
type cost struct{ peak, sum float64 }

func (c cost) less(o cost) bool { return c.peak < o.peak || c.peak == o.peak && c.sum < o.sum }

func (p *planner) cost(run []*subject, delta int) (c cost) {
	for _, s := range run {
		at := p.at[s]
		for m := at.Minutes.Next(0); m >= 0; m = at.Minutes.Next(m + 1) {
			for d := range s.minutesLong() {
				load := p.load[((m+delta+d)%minutesPerDay+minutesPerDay)%minutesPerDay]
				c.peak = max(c.peak, load)
				c.sum += load
			}
		}
	}
	return c
}

// placed is the group as it would be with the moves made so far.
func (p *planner) placed() []*subject {
	after := slices.Clone(p.group)
	for i, s := range p.group {
		if p.text[s] != s.Raw {
			after[i] = s.at(p.text[s], p.at[s])
		}
	}
	return after
}

// grid is the most that starts in each minute of the day, on any day.
func (c *calendar) grid() (grid [24][60]float64) {
	for i := range c.classes {
		for m, slots := range c.classes[i].starts() {
			sum := 0.0
			for _, s := range slots {
				for _, j := range c.slots[s].jobs {
					sum += c.group[j].weight()
				}
			}
			grid[m/60][m%60] = max(grid[m/60][m%60], sum)
		}
	}
	return grid
}
