package schedule

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const systemdTime = "Mon 2006-01-02 15:04:05 MST"

// systemdAnswer is what systemd-analyze says about one calendar event.
type systemdAnswer struct {
	valid bool
	fires []time.Time
}

// askSystemd puts many calendar events to one run of systemd-analyze.
func askSystemd(t *testing.T, zone string, base time.Time, iterations int, specs []string) []systemdAnswer {
	t.Helper()
	args := []string{
		"calendar", fmt.Sprint("--iterations=", iterations),
		"--base-time=" + base.UTC().Format("2006-01-02 15:04:05") + " UTC", "--",
	}
	cmd := exec.CommandContext(t.Context(), "systemd-analyze", append(args, specs...)...)
	cmd.Env = append(os.Environ(), "TZ="+zone, "LC_ALL=C")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // it fails when one event is invalid; that one is named on stderr
	answers := make([]systemdAnswer, len(specs))
	blocks := strings.Split(stdout.String(), "Normalized form:")[1:]
	for i, spec := range specs {
		if strings.Contains(stderr.String(), "next elapse for '"+spec+"'") {
			// systemd gave up in a loop of its own, and so on the rest.
			return append(answers[:i], append([]systemdAnswer{{valid: true}}, askSystemd(t, zone, base, iterations, specs[i+1:])...)...)
		}
		if strings.Contains(stderr.String(), "specification '"+spec+"'") {
			continue
		}
		if len(blocks) == 0 {
			t.Fatalf("no answer for %q:\n%s%s", spec, stdout.String(), stderr.String())
		}
		answers[i] = systemdAnswer{true, systemdFires(t, blocks[0])}
		blocks = blocks[1:]
	}
	return answers
}

// systemdFires reads the elapse times of one block; where the zone is not UTC
// each is given twice, and the line in UTC counts.
func systemdFires(t *testing.T, block string) (fires []time.Time) {
	inUTC := strings.Contains(block, "(in UTC)")
	for line := range strings.Lines(block) {
		label, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		isLocal := label == "Next elapse" || strings.HasPrefix(label, "Iter.")
		if !ok || value == "never" || (inUTC && label != "(in UTC)") || (!inUTC && !isLocal) {
			continue
		}
		at, err := time.Parse(systemdTime, value)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		fires = append(fires, at)
	}
	return fires
}

func needSystemd(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("systemd-analyze is missing (Debian package systemd)")
		}
		t.Skip("systemd-analyze is missing (Debian package systemd)")
	}
}

// calendarComponent makes start[..stop][/repeat] lists, some of them invalid.
func (g generator) calendarComponent(lo, hi int) string {
	if g.r.IntN(3) == 0 {
		return "*"
	}
	var items []string
	for {
		a, b := g.between(lo, hi), g.between(lo, hi)
		if a > b && g.r.IntN(10) > 0 {
			a, b = b, a
		}
		switch g.r.IntN(6) {
		case 0:
			items = append(items, fmt.Sprintf("%d..%d", a, b))
		case 1:
			items = append(items, fmt.Sprintf("%d..%d/%d", a, b, g.between(1, max(2, (hi-lo)/3))))
		case 2:
			items = append(items, fmt.Sprintf("%d/%d", a, g.between(1, max(2, (hi-lo)/2))))
		default:
			items = append(items, fmt.Sprintf("%02d", g.between(lo, hi+g.r.IntN(20)/19)))
		}
		if g.r.IntN(3) > 0 {
			return strings.Join(items, ",")
		}
	}
}

func (g generator) calendar() string {
	var words []string
	if g.r.IntN(3) == 0 {
		days := []string{"Mon", "tue", "Wednesday", "THU", "Fri", "Sat", "Sun"}
		day := func() string { return days[g.r.IntN(7)] }
		words = append(words, []string{day(), day() + "," + day(), day() + ".." + day(), "Mon-Fri", "Sat,Sun"}[g.r.IntN(5)])
	}
	if g.r.IntN(3) > 0 {
		date := g.calendarComponent(1, 12)
		if g.r.IntN(2) == 0 {
			date = []string{"*", "2026..2030", "2027", "2026/2"}[g.r.IntN(4)] + "-" + date
		}
		words = append(words, date+[]string{"-", "-", "-", "~"}[g.r.IntN(4)]+g.calendarComponent(1, 31))
	}
	if g.r.IntN(5) > 0 || len(words) == 0 {
		clock := g.calendarComponent(0, 23) + ":" + g.calendarComponent(0, 59)
		if g.r.IntN(2) == 0 {
			clock += ":" + []string{"00", "30", "0/20", "15..45/15", "*", "07.5"}[g.r.IntN(6)]
		}
		words = append(words, clock)
	}
	return strings.Join(words, " ")
}

func TestSystemdOracle(t *testing.T) {
	needSystemd(t)
	g := newGenerator(3)
	valid := 0
	for range 60 {
		zone := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}[g.r.IntN(4)]
		base := g.instant(load(t, zone))
		var specs []string
		for range 40 {
			specs = append(specs, g.calendar())
		}
		for i, answer := range askSystemd(t, zone, base, 6, specs) {
			s, err := Parse(Systemd, specs[i])
			if (err == nil) != answer.valid {
				t.Errorf("%q: we say %v, systemd accepts it: %v", specs[i], err, answer.valid)
				continue
			}
			if err == nil {
				valid++
				compareSystemd(t, s, base, answer.fires)
			}
		}
	}
	if valid < 1200 {
		t.Errorf("only %d calendar events were valid", valid)
	}
}

func compareSystemd(t *testing.T, s *Schedule, base time.Time, fires []time.Time) {
	t.Helper()
	at := base
	for _, want := range fires {
		got := s.Next(at)
		if !got.Equal(want) {
			t.Errorf("%q after %v:\n got %v\nwant %v", s.Text, at, got, want.In(base.Location()))
			return
		}
		at = want.In(base.Location())
	}
}

func TestSystemdWords(t *testing.T) {
	needSystemd(t)
	base := time.Date(2026, 1, 1, 12, 34, 56, 0, time.UTC)
	specs := []string{
		"minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "semi-annually",
		"biannually", "bi-annually", "yearly", "annually", "anually", "midnight", "Daily", "fortnightly",
		"Mon", "Mon,", "Mon,Tue 10:00", "Sun..Mon", "Sat-Sun", "monday..fri 2027..2030-1..6-* 8..18/2:00/30:00",
		"12-25", "*-*-* 24:00", "*-*-* 23:59:60", "*:0/15", "*:*/15", "*", "10", "2026", "*-*~1", "*-*~01/3", "*-02~03", "*-*~7/1",
		"22:00..23:00", "1,,2:00", "Mon *-*-* 10", "daily UTC", "Mon 10:00 Europe/Berlin", "10:00 Asia/Tokyo", "10:00 Nowhere/City",
		"*-*-* *:*:0.5", "*-*-* *:*:0/0.5", "*-*-* *:*:30..10", "*-*-31", "*-2-30", "*-2-29", "69-01-01", "99-01-01", "@1800000000",
		"*-*-* 5..5:00", "*-*-* 5/0:00", "*-*-* 5/20:00", "*-1..12/2-1 0..23/6:0", "Mon..Sun", "*-*~31", "*-*~32", "--", "", " ",
		"Mon 2028-02-29", "*-*-* 00:00:00 extra", "00:00 *-*-*", "Mon Tue", "*-*-*-* 1:00", "1:2:3:4", "*-*-*T1:00",
		"*-*~10..5", "*-*~5..10", "*-*~20..3/4", "*-*~20/4", "*-*-1..3,15..20/2", "0:0:0,30", "+1:00", "0001-01-01", "2300-01-01",
	}
	for i, answer := range askSystemd(t, "UTC", base, 5, specs) {
		s, err := Parse(Systemd, specs[i])
		if (err == nil) != answer.valid {
			t.Errorf("%q: we say %v, systemd accepts it: %v", specs[i], err, answer.valid)
			continue
		}
		if err != nil {
			continue
		}
		if len(answer.fires) == 0 && !s.Next(base).IsZero() {
			t.Errorf("%q: we say %v, systemd says never", specs[i], s.Next(base))
		}
		if !strings.Contains(specs[i], "0.5") { // we keep no fractions of seconds
			compareSystemd(t, s, base, answer.fires)
		}
	}
}
