package timing

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A subject is one schedule that is alive and bound to the wall clock, with
// what is known about it beyond its text.
type subject struct {
	*lint.Entry
	script  script
	unit    *unit // of a systemd timer, else nil
	planned bool  // it stands where a plan has put it, not where its file says
}

// subjects are the entries that can fire by the wall clock. Left out are those
// that are disabled, that never start, that a drop-in resets, and that a systemd
// timer replaces.
func subjects(p *lint.Pass) []*subject {
	units := timerUnits(p)
	var all []*subject
	for _, e := range p.Entries {
		if e.Disabled || e.Schedule == nil || !e.Schedule.WallClock() || e.Schedule.PerDay() == 0 {
			continue
		}
		s := &subject{Entry: e}
		if d, ok := e.Detail.(*job.TimerEvent); ok {
			if s.unit = units[unitKey(d.Timer)]; s.unit == nil || !s.unit.inForce(d) {
				continue
			}
		} else {
			s.script = readScript(e)
		}
		if !s.script.twin {
			all = append(all, s)
		}
	}
	return all
}

// spread reports whether the job does not start at the exact minute written.
func (s *subject) spread() bool {
	if s.Schedule.Drawn || s.script.random || hashed(s.Schedule) {
		return true
	}
	if s.unit != nil && s.unit.window() > 0 {
		return true
	}
	t, ok := s.Detail.(*job.Terraform)
	return ok && t.Flexible == "FLEXIBLE"
}

// hashed reports whether a field is made from the job's name (Jenkins' H).
func hashed(s *schedule.Schedule) bool {
	for _, f := range s.Fields {
		for _, t := range f.Terms {
			if t.Kind == schedule.TermHash {
				return true
			}
		}
	}
	return false
}

// name is how messages call the job.
func (s *subject) name() string {
	switch d := s.Detail.(type) {
	case *job.TimerEvent:
		return d.Timer.Unit
	case *job.CronJob:
		return d.Kind + " " + s.Command
	}
	return cmp.Or(shorten(s.Command, 60), s.Raw)
}

func shorten(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

// hosts is the number of machines the entry is installed on; 0 is not known.
func (s *subject) hosts(o *lint.Options) int {
	if s.Group != job.GroupHost {
		return 0
	}
	return cmp.Or(s.Notes.Hosts, o.Hosts)
}

func (s *subject) weight() float64 { return cmp.Or(s.Notes.Weight, 1) }

// location is the zone the schedule is read in. The zone of a machine is not
// known; all entries of a group are then compared in one and the same zone.
func (s *subject) location() *time.Location {
	if s.Zone != nil {
		return s.Zone
	}
	return time.UTC
}

// problem makes a problem at the schedule itself.
func (s *subject) problem(r *ruleDoc, format string, args ...any) lint.Problem {
	return entryProblem(r, s.Entry, s.name(), format, args...)
}

// period is the shortest time between two fires on the wall clock in the year
// of now; zero when it fires less than twice.
func (s *subject) period(now time.Time) time.Duration {
	m := &s.Schedule.Minutes
	first, last, least := m.Next(0), -1, 0
	shorter := func(gap int) {
		if least == 0 || gap < least {
			least = gap
		}
	}
	for at := first; at >= 0; at = m.Next(at + 1) {
		if last >= 0 {
			shorter(at - last)
		}
		last = at
	}
	days := s.Schedule.Days(now.Year())
	previous := -1
	for d := days.Next(0); d >= 0; d = days.Next(d + 1) {
		if previous >= 0 {
			shorter((d-previous)*minutesPerDay + first - last)
		}
		previous = d
	}
	return time.Duration(least) * time.Minute
}

const minutesPerDay = 24 * 60

// A unit is a timer with its drop-ins, in the order systemd reads them.
type unit struct {
	name  string
	files []*job.TimerFile
}

func unitKey(t *job.TimerFile) string {
	dir := path.Dir(t.File.Path)
	if t.DropIn {
		dir = path.Dir(dir)
	}
	return dir + "/" + t.Unit
}

// timerUnits puts the timers and their drop-ins together.
func timerUnits(p *lint.Pass) map[string]*unit {
	units := map[string]*unit{}
	for _, s := range p.Settings {
		t, ok := s.Value.(*job.TimerFile)
		if !ok {
			continue
		}
		key := unitKey(t)
		if units[key] == nil {
			units[key] = &unit{name: t.Unit}
		}
		units[key].files = append(units[key].files, t)
	}
	for _, u := range units {
		slices.SortStableFunc(u.files, func(a, b *job.TimerFile) int {
			if a.DropIn != b.DropIn {
				return boolOrder(a.DropIn)
			}
			return strings.Compare(path.Base(a.File.Path), path.Base(b.File.Path))
		})
	}
	return units
}

func boolOrder(after bool) int {
	if after {
		return 1
	}
	return -1
}

// key is the assignment of a key that is in force, with its file; nil if none.
func (u *unit) key(name string) (*job.UnitKey, *lint.File) {
	for _, t := range slices.Backward(u.files) {
		if k := t.Last(name); k != nil {
			if k.Value == "" {
				return nil, nil
			}
			return k, t.File
		}
	}
	return nil, nil
}

// span is the value of a key that is a time span; 0 when absent or not understood.
func (u *unit) span(name string) time.Duration {
	if k, _ := u.key(name); k != nil {
		if d, ok := job.Timespan(k.Value); ok {
			return d
		}
	}
	return 0
}

// window is the time over which systemd spreads the timer's starts.
func (u *unit) window() time.Duration {
	return max(u.span("RandomizedDelaySec"), u.span("RandomizedOffsetSec"))
}

func (u *unit) isTrue(name string) bool {
	k, _ := u.key(name)
	return k != nil && slices.Contains([]string{"1", "yes", "true", "on", "y", "t"}, strings.ToLower(k.Value))
}

// inForce reports whether no later empty assignment resets the event.
func (u *unit) inForce(d *job.TimerEvent) bool {
	seen := false
	for _, t := range u.files {
		for _, k := range t.Keys {
			if t == d.Timer && k.Span == d.Key.Span {
				seen = true
			} else if seen && k.Section == "Timer" && k.Name == "OnCalendar" && k.Value == "" {
				return false
			}
		}
	}
	return seen
}
