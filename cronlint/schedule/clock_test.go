package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// cronDaemon is the main loop of Debian's cron and cronie (cron.c), reduced to
// what decides which minute runs: a virtual clock that follows the wall clock,
// catches up after small steps, and holds back fixed-time jobs after a step
// back. It returns the instants at which the job runs.
func cronDaemon(s *Schedule, from, to time.Time) (fires []int64) {
	zone := from.Location()
	minute := func(at time.Time) int { // minutes on the wall clock
		_, offset := at.Zone()
		return int((at.Unix() + int64(offset)) / 60)
	}
	days := s.Days(from.Year()) // no case runs over the end of the year
	match := func(m int, wild, fixed bool) bool {
		if s.fixedTime && !fixed || !s.fixedTime && !wild {
			return false
		}
		t := time.Unix(int64(m)*60, 0).UTC()
		return days.Has(t.YearDay()-1) && s.Minutes.Has(t.Hour()*60+t.Minute())
	}
	virtual := minute(from)
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		running := minute(at.In(zone))
		ran := false
		switch diff := running - virtual; {
		case diff > 180 || diff < -180:
			virtual = running
			ran = match(virtual, true, true)
		case diff > 5: // clocks went forward
			ran = match(running, true, false)
			for virtual < running {
				virtual++
				ran = match(virtual, false, true) || ran
			}
		case diff > 0: // every minute between, all jobs
			for virtual < running {
				virtual++
				ran = match(virtual, true, true) || ran
			}
		default: // clocks went back: wildcard jobs only, until we are there again
			ran = match(running, true, false)
		}
		if ran {
			fires = append(fires, at.Unix())
		}
	}
	return fires
}

var changes = []struct {
	zone string
	day  time.Time // a day before the change
}{
	{"Europe/Berlin", time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)},
	{"Europe/Berlin", time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC)},
	{"America/New_York", time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC)},
	{"America/New_York", time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC)},
	{"Australia/Lord_Howe", time.Date(2026, 4, 4, 0, 0, 0, 0, time.UTC)},
	{"Australia/Lord_Howe", time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC)},
	{"America/Sao_Paulo", time.Date(2018, 11, 3, 0, 0, 0, 0, time.UTC)},
	{"Europe/London", time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)},
}

func TestCatchUp(t *testing.T) {
	g := newGenerator(4)
	for range 400 {
		text := g.field(0, 59, nil) + " " + g.field(0, 4, nil) + " * * *"
		s, err := Parse(Vixie, text)
		if err != nil {
			continue
		}
		change := changes[g.r.IntN(len(changes))]
		from := change.day.In(load(t, change.zone))
		to := from.Add(60 * time.Hour)
		var got []int64
		for at := range s.Fires(from, to) {
			got = append(got, at.Unix())
		}
		if want := cronDaemon(s, from, to); !slices.Equal(got, want) {
			t.Errorf("%q in %s after %v: %s", text, change.zone, from, firstDifference(got, want, from.Location()))
		}
	}
}

func firstDifference(got, want []int64, zone *time.Location) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("missing %v", time.Unix(want[i], 0).In(zone))
		case i >= len(want):
			return fmt.Sprintf("extra %v", time.Unix(got[i], 0).In(zone))
		case got[i] != want[i]:
			return fmt.Sprintf("got %v, want %v", time.Unix(got[i], 0).In(zone), time.Unix(want[i], 0).In(zone))
		}
	}
	return "none"
}

// Every way to treat the clocks against a scan of all minutes: Wall is the
// scan itself; the others keep or move what is in the gap and the fold.
func TestClocks(t *testing.T) {
	base := time.Date(2026, 3, 28, 12, 0, 0, 0, load(t, "Europe/Berlin"))
	fold := time.Date(2026, 10, 24, 12, 0, 0, 0, load(t, "Europe/Berlin"))
	for _, c := range []struct {
		d              Dialect
		text           string
		spring, autumn string // the fires of the day of the change, in UTC
	}{
		{Robfig, "30 2 * * *", "", "00:30 01:30"},
		{Systemd, "2:30", "", "00:30"},
		{Quartz, "0 30 2 * * ?", "", "01:30"},
		{Vixie, "30 2 * * *", "01:00", "00:30"},
		{Vixie, "*/30 2 * * *", "", "00:00 00:30 01:00 01:30"},
		{Vixie, "15,45 2 * * *", "01:00", "00:15 00:45"},
		{PHP, "30 2 * * *", "01:30", "00:30 01:30"},
		{Croner, "30 2 * * *", "01:00", "00:30"},
		{Robfig, "0 0-3 * * *", "23:00 00:00 01:00", "22:00 23:00 00:00 01:00 02:00"},
	} {
		s, err := Parse(c.d, c.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []struct {
			from time.Time
			want string
		}{{base, c.spring}, {fold, c.autumn}} {
			midnight := time.Date(side.from.Year(), side.from.Month(), side.from.Day()+1, 0, 0, 0, 0, side.from.Location())
			var got string
			for at := range s.Fires(midnight.Add(-time.Second), midnight.Add(6*time.Hour)) {
				if len(got) > 0 {
					got += " "
				}
				got += at.UTC().Format("15:04")
			}
			if got != side.want {
				t.Errorf("%v %q on %s: got %q, want %q", c.d, c.text, midnight.Format("2006-01-02"), got, side.want)
			}
		}
	}
}

var propertyZones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
	"Pacific/Kiritimati", "America/St_Johns", "Pacific/Marquesas",
}

// A year in parts holds exactly the minutes that iteration gives.
func TestYearEqualsFires(t *testing.T) {
	g := newGenerator(5)
	for range 60 {
		d := []Dialect{Vixie, Robfig, Systemd, PHP, Croner}[g.r.IntN(5)]
		text := g.five()
		if d == Systemd {
			text = g.calendar()
		}
		s, err := Parse(d, text)
		if err != nil {
			continue
		}
		zone := load(t, propertyZones[g.r.IntN(len(propertyZones))])
		year := s.Year(2026, zone)
		want := map[int64]bool{}
		jan1 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := range s.Fires(jan1.Add(-time.Second).In(zone), jan1.AddDate(1, 0, 0).Add(-time.Second)) {
			want[at.Unix()/60] = true
		}
		seen := 0
		for _, p := range year.Parts {
			for d := p.Days.Next(0); d >= 0; d = p.Days.Next(d + 1) {
				for m := p.Minutes.Next(0); m >= 0; m = p.Minutes.Next(m + 1) {
					seen++
					if at := jan1.AddDate(0, 0, d).Add(time.Duration(m) * time.Minute); !want[at.Unix()/60] {
						t.Fatalf("%v %q in %v: part holds %v, which doesn't fire", d, text, zone, at)
					}
				}
			}
		}
		if seen != len(want) || seen != year.Count() {
			t.Errorf("%v %q in %v: %d minutes in parts (Count %d), %d fires", d, text, zone, seen, year.Count(), len(want))
		}
	}
}

// The intersection of two years is the intersection of their fires.
func TestIntersect(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := newGenerator(rapid.Uint64().Draw(rt, "seed"))
		var years [2]Year
		var fires [2]map[int64]bool
		jan1 := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := range 2 {
			text := g.field(0, 59, nil) + " " + g.field(0, 23, nil) + " " + g.field(1, 31, nil) + " 3,10,11 " + g.field(0, 6, nil)
			s, err := Parse(Robfig, text)
			if err != nil {
				return
			}
			zone := load(t, propertyZones[g.r.IntN(len(propertyZones))])
			years[i] = s.Year(2028, zone)
			fires[i] = map[int64]bool{}
			for at := range s.Fires(jan1.Add(-time.Second).In(zone), jan1.AddDate(1, 0, 0).Add(-time.Second)) {
				fires[i][at.Unix()] = true
			}
		}
		both := years[0].Intersect(&years[1])
		n := 0
		var first int64
		for at := range fires[0] {
			if fires[1][at] {
				n++
				if first == 0 || at < first {
					first = at
				}
			}
		}
		if both.Count() != n {
			rt.Fatalf("intersection holds %d minutes, fires share %d", both.Count(), n)
		}
		if got := both.First(jan1.Add(-time.Second)); n > 0 && got.Unix() != first {
			rt.Fatalf("first shared minute is %v, want %v", got, time.Unix(first, 0).UTC())
		}
	})
}
