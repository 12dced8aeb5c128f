package report

import (
	"fmt"
	"slices"

	"github.com/herdscan/herdscan/cronlint"
)

// Plan is what "herdscan plan" computed, ready to be written.
type Plan struct {
	Version string
	Paths   []string // as given
	Result  *cronlint.Result
	Loads   []cronlint.Load
	Hosts   int // machines that the jobs of a host run on; 0: not known
	Year    int
	Notes   []string
	Base    string
}

// Document writes the load of each group: the heat map, the worst minutes, and
// where each job should go.
func (p *Plan) Document(Clock) *Document {
	d := New(p.Version, "plan")
	d.Base, d.Notes = p.Base, p.Notes
	d.Coverage = lintCoverage(p.Paths, p.Result)
	for i := range p.Loads {
		p.group(d, &p.Loads[i])
	}
	d.Finish()
	d.Verdict = p.verdict(d)
	return d
}

func (p *Plan) group(d *Document, l *cronlint.Load) {
	name := Clean(l.Group)
	if l.LeftOut > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s: %s left out: a random wait or a scheduler of its own decides when it starts", name, Count(l.LeftOut, "schedules")))
	}
	if l.Jobs < 2 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s: %s, nothing to meet", name, Count(l.Jobs, "schedules")))
		return
	}
	var tables []Table
	if len(l.Worst) > 0 {
		tables = append(tables, worstMinutes(name, l))
	}
	if len(l.Moves) > 0 {
		tables = append(tables, moves(name, l))
	} else {
		d.Notes = append(d.Notes, fmt.Sprintf("%s: busiest minute %s, nothing needs to or can move", name, starts(l.Before.Starts)))
	}
	if len(tables) > 0 {
		tables[0].Heatmap = p.heatmap(name, l)
		d.Tables = append(d.Tables, tables...)
	}
	if hosts := p.Hosts; hosts > 1 && name == hostGroup {
		d.Notes = append(d.Notes, fmt.Sprintf("%s: on %s the busiest minute is %s starts, then %s, if all clocks agree", name,
			Count(hosts, "machines"), Float(l.Before.Starts*float64(hosts)), Float(l.After.Starts*float64(hosts))))
	}
}

func (p *Plan) heatmap(name string, l *cronlint.Load) *Heatmap {
	return &Heatmap{
		Title: fmt.Sprintf("%s: starts in each minute of the day, the most on any day of %d (%s, %s)", name, p.Year, Count(l.Jobs, "schedules"), clockName(l)),
		Unit:  "starts/min", Before: l.GridBefore, After: l.GridAfter,
	}
}

func starts(n float64) string {
	if n == 1 {
		return "1 start"
	}
	return Float(n) + " starts"
}

// hostGroup is the group of the jobs that each machine runs for itself.
const hostGroup = "host"

func clockName(l *cronlint.Load) string {
	if l.OwnClock {
		return "on the clock of whatever runs them"
	}
	return "in UTC, also those without a zone"
}

func worstMinutes(name string, l *cronlint.Load) Table {
	t := Table{
		Title:   name + ": the worst minutes of the year",
		Columns: []string{"next", "starts", "times a year", "jobs"}, Left: []bool{true, false, false, true},
	}
	zone := " UTC"
	if l.OwnClock {
		zone = ""
	}
	for _, m := range l.Worst {
		t.Rows = append(t.Rows, []string{
			m.At.Format("Mon 2006-01-02 15:04") + zone, Float(m.Starts), Int(m.Times), members(m.Jobs),
		})
	}
	return t
}

// members names some of the jobs of a minute.
func members(jobs []*cronlint.Entry) string {
	places := make([]Location, len(jobs))
	for i, e := range jobs {
		places[i] = Location{File: sourcePath(e.File.Path), Line: e.Location().Line}
	}
	return placeNames(places, len(places))
}

func place(e *cronlint.Entry) string {
	return fmt.Sprintf("%s:%d", sourcePath(e.File.Path), e.Location().Line)
}

func moves(name string, l *cronlint.Load) Table {
	t := Table{Columns: []string{"where", "job", "now", "then"}, Left: []bool{true, true, true, true, true}}
	doubtful := slices.ContainsFunc(l.Moves, func(m cronlint.Move) bool { return !m.Edit.Safe })
	if doubtful {
		t.Columns = append(t.Columns, "look first")
	}
	for _, m := range l.Moves {
		row := []string{place(m.Entry), Clean(cronlint.JobName(m.Entry)), Clean(m.Entry.Raw), Clean(m.To)}
		if doubtful {
			row = append(row, Clean(m.Edit.Why))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Title = fmt.Sprintf("%s: %s of %s would move; busiest minute %s → %s", name,
		Int(len(l.Moves)), Count(l.Jobs, "schedules"), Float(l.Before.Starts), starts(l.After.Starts))
	return t
}

func (p *Plan) verdict(d *Document) string {
	moved, jobs := 0, 0
	for i := range p.Loads {
		moved += len(p.Loads[i].Moves)
		jobs += p.Loads[i].Jobs
	}
	switch {
	case d.Incomplete():
		return "part of the input is unread: the plan knows only what was read"
	case jobs == 0:
		return "nothing to plan: no schedule in " + Count(p.Result.Files.Seen, "files")
	case moved == 0:
		return fmt.Sprintf("%s, none needs to move", Count(jobs, "schedules"))
	}
	d.Next = []string{"--diff shows the moves as a diff, --fix writes the safe ones"}
	return fmt.Sprintf("%s of %s would move", Int(moved), Count(jobs, "schedules"))
}
