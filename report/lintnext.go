package report

import (
	"time"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/cronlint/job"
)

// nextTable lists the next n starts of each schedule, in its own dialect and
// time zone; in zone where it names none.
func nextTable(entries []*cronlint.Entry, n int, now time.Time, zone *time.Location, clock Clock) Table {
	t := Table{
		Title:   "next starts, as the scheduler of each dialect would have them; a schedule without a zone is read in " + zoneName(zone, now),
		Columns: []string{"where", "schedule", "dialect", "starts"}, Left: []bool{true, true, true, true},
	}
	for _, e := range entries {
		row := func(text string) {
			t.Rows = append(t.Rows, []string{place(e), Clean(e.Raw), e.Dialect.String(), text})
		}
		if why := noStarts(e); why != "" {
			row(why)
			continue
		}
		at, none := now.In(entryZone(e, zone)), true
		for range n {
			if at = e.Schedule.Next(at); at.IsZero() {
				break
			}
			row(startTime(at, clock) + randomPart(e))
			none = false
		}
		if none {
			row("never")
		}
	}
	return t
}

// zoneName names a time zone; the machine's own has none but its abbreviation.
func zoneName(zone *time.Location, now time.Time) string {
	if zone != time.Local {
		return Clean(zone.String())
	}
	name, _ := now.In(zone).Zone()
	return "this machine's zone (" + name + ")"
}

// noStarts is why a schedule has no starts to list; "" when it has.
func noStarts(e *cronlint.Entry) string {
	switch {
	case e.Schedule == nil && e.Err != nil:
		return "not understood: " + Clean(e.Err.Error())
	case e.Schedule == nil:
		return "not understood"
	case e.Disabled:
		return "switched off"
	case e.Schedule.Reboot:
		return "when the machine starts"
	case e.Schedule.Interval > 0:
		return "every " + Dur(e.Schedule.Interval) + ", counted from its own start"
	}
	return ""
}

func entryZone(e *cronlint.Entry, zone *time.Location) *time.Location {
	switch {
	case e.Schedule.Zone != nil:
		return e.Schedule.Zone
	case e.Zone != nil:
		return e.Zone
	}
	return zone
}

// startTime writes a start in the zone of its schedule.
func startTime(at time.Time, clock Clock) string {
	if clock.Zone == nil {
		return at.Format(time.RFC3339)
	}
	return at.Format("Mon 2006-01-02 15:04:05 MST")
}

// randomPart says what comes on top of the time written.
func randomPart(e *cronlint.Entry) string {
	if e.Schedule.Drawn {
		return " at the earliest (a random value is drawn)"
	}
	if d, ok := e.Detail.(*job.TimerEvent); ok {
		if k := d.Timer.Last("RandomizedDelaySec"); k != nil && k.Value != "" && k.Value != "0" {
			return " plus up to " + Clean(k.Value)
		}
	}
	return ""
}
