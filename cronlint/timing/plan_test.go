package timing

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var testNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// passOf reads files (path, text, path, text ...) as a run would, with the
// annotations of their comments.
func passOf(t testing.TB, o lint.Options, files ...string) *lint.Pass {
	t.Helper()
	o.Now = testNow
	p := &lint.Pass{Options: &o, Report: func(lint.Problem) {}}
	for i := 0; i < len(files); i += 2 {
		f := lint.NewFile(files[i], []byte(files[i+1]))
		for _, format := range job.Formats() {
			if !format.Match(f.Path, f.Data) {
				continue
			}
			parsed, err := format.Parse(f, &o)
			if err != nil {
				t.Fatal(err)
			}
			notes := lint.IndexDirectives(f)
			for _, e := range parsed.Entries {
				notes.Annotate(e)
			}
			p.Entries = append(p.Entries, parsed.Entries...)
			p.Settings = append(p.Settings, parsed.Settings...)
		}
	}
	if len(p.Entries) == 0 {
		t.Fatal("no entries")
	}
	return p
}

// applied returns the text of a crontab with the moves of a plan made.
func planned(p *lint.Pass, plan *Plan) string {
	var b strings.Builder
	for _, e := range p.Entries {
		raw := e.Raw
		if m := plan.move(e); m != nil {
			raw = m.To
		}
		fmt.Fprintf(&b, "%s root %s\n", raw, e.Command)
	}
	return b.String()
}

func crontabOf(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line+"\n", i)
	}
	return b.String()
}

func TestPlanSpreadsHourlyJobs(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/crontab", crontabOf(20, "0 * * * * root /opt/job-%d"))
	plan := NewPlan(p, false)
	g := plan.Groups[0]
	l := Loads(p, plan, 1)[0]
	if l.Before.Starts != 20 || l.After.Starts != 1 || len(g.Moves) != 20 || g.Jobs != 20 {
		t.Errorf("busiest minute %v → %v with %d moves of %d jobs", l.Before.Starts, l.After.Starts, len(g.Moves), g.Jobs)
	}
	if l.GridBefore[5][0] != 20 || l.GridAfter[5][0] != 0 || len(l.Moves) != 20 || len(l.Worst[0].Jobs) != 20 {
		t.Errorf("grid at 05:00 is %v, then %v; %d moves", l.GridBefore[5][0], l.GridAfter[5][0], len(l.Moves))
	}
	for _, m := range g.Moves {
		s, err := schedule.Parse(schedule.Vixie, m.To)
		if err != nil || s.PerDay() != 24 || s.MinutesOfHour()&1 != 0 {
			t.Errorf("%q is no hourly schedule off minute 0: %v", m.To, err)
		}
	}
	if again := NewPlan(p, false); planned(p, plan) != planned(p, again) {
		t.Error("two plans of the same jobs differ")
	}
	other := passOf(t, lint.Options{Seed: "another"}, "etc/crontab", crontabOf(20, "0 * * * * root /opt/job-%d"))
	if planned(p, plan) == planned(other, NewPlan(other, false)) {
		t.Error("the seed changes nothing")
	}
}

// More jobs than minutes: the load is as even as it can be.
func TestPlanBeyondAnHour(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/crontab", crontabOf(150, "0 * * * * root /opt/job-%d"))
	if l := Loads(p, NewPlan(p, false), 1)[0]; l.After.Starts != 3 {
		t.Errorf("150 hourly jobs: busiest minute %v, want 3 (59 minutes are free)", l.After.Starts)
	}
}

// A job that is added moves itself, and nobody else.
func TestPlanIsIncremental(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/crontab", crontabOf(20, "0 * * * * root /opt/job-%d"))
	settled := planned(p, NewPlan(p, false))
	more := passOf(t, lint.Options{}, "etc/crontab", settled+"0 * * * * root /opt/new\n")
	plan := NewPlan(more, false)
	if moves := plan.Groups[0].Moves; len(moves) != 1 || moves[0].Entry.Command != "/opt/new" {
		t.Errorf("%d moves: %+v", len(moves), moves)
	}
	if moves := NewPlan(more, true).Groups[0].Moves; len(moves) < 5 {
		t.Errorf("a plan from scratch moves only %d jobs", len(moves))
	}
}

// Sixty daily jobs of 45 minutes in one hour can't be spread over more than
// that hour, but sixty over all hours can: at most four run at once.
func TestPlanMindsDurations(t *testing.T) {
	var b strings.Builder
	for i := range 24 {
		for j := range 2 {
			fmt.Fprintf(&b, "# herdscan: duration=25m\n0 %d * * * root /opt/job-%d-%d\n", i, i, j)
		}
	}
	p := passOf(t, lint.Options{}, "etc/crontab", b.String())
	plan := NewPlan(p, false)
	var load [minutesPerDay]int
	peak := 0
	for _, e := range p.Entries {
		s := e.Schedule
		if m := plan.move(e); m != nil {
			s, _ = schedule.Parse(schedule.Vixie, m.To)
		}
		start := s.Minutes.Next(0)
		for d := range 25 {
			at := (start + d) % minutesPerDay
			load[at]++
			peak = max(peak, load[at])
		}
	}
	if peak > 2 {
		t.Errorf("%d of 48 jobs of 25 minutes run at once, want at most 2", peak)
	}
}

func TestPlanLeavesAlone(t *testing.T) {
	for name, text := range map[string]string{
		"pinned":        "# herdscan: pin reason=billing\n0 3 * * * root /opt/a\n",
		"pinned step":   "# herdscan: pin reason=billing\n*/15 3 * * * root /opt/a\n",
		"random wait":   "0 3 * * * root sleep $(shuf -i 0-600 -n 1); /opt/a\n",
		"tick":          "*/5 * * * * root php artisan schedule:run\n",
		"systemd twin":  "0 3 * * * root [ -d /run/systemd/system ] || /opt/a\n",
		"staggered":     "9,39 * * * * root /opt/a\n",
		"list":          "0,30 * * * * root /opt/a\n",
		"uneven step":   "*/7 * * * * root /opt/a\n",
		"not at zero":   "17 3 * * * root /opt/a\n",
		"bad chain":     "0 * * * * root /opt/a\n10 * * * * root /opt/b\n10 * * * * root /opt/c\n",
		"window passed": "# herdscan: window=03:00-03:01\n0 3 * * * root /opt/a\n",
	} {
		p := passOf(t, lint.Options{}, "etc/crontab", text)
		for _, g := range NewPlan(p, false).Groups {
			for _, m := range g.Moves {
				t.Errorf("%s: %q moved to %q", name, m.Entry.Raw, m.To)
			}
		}
	}
}

// Jobs that follow each other move together: order and gaps stay.
func TestPlanKeepsChains(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/crontab", "0 3 * * * root /opt/dump\n10 3 * * * root /opt/pack\n25 3 * * * root /opt/send\n0 3 * * 1 root /opt/weekly\n")
	plan := NewPlan(p, false)
	var starts []int
	for _, e := range p.Entries[:3] {
		m := plan.move(e)
		if m == nil {
			t.Fatalf("%q did not move", e.Raw)
		}
		if len(m.Edit.With) != 2 {
			t.Errorf("%q moves with %d others, want 2", e.Raw, len(m.Edit.With))
		}
		s, _ := schedule.Parse(schedule.Vixie, m.To)
		starts = append(starts, s.Minutes.Next(0))
	}
	if starts[1]-starts[0] != 10 || starts[2]-starts[1] != 15 || starts[0] <= 180 || starts[2] >= 240 {
		t.Errorf("the chain starts at %v", starts)
	}
}

// A job said to follow another keeps its distance, at whatever minutes.
func TestPlanFollowsAfter(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/crontab", "0 3 * * * root /opt/dump\n# herdscan: after=dump\n8 3 * * * root /opt/pack\n")
	plan := NewPlan(p, false)
	var starts []int
	for _, e := range p.Entries {
		m := plan.move(e)
		if m == nil {
			t.Fatalf("%q did not move", e.Raw)
		}
		s, _ := schedule.Parse(schedule.Vixie, m.To)
		starts = append(starts, s.Minutes.Next(0))
	}
	if starts[1]-starts[0] != 8 {
		t.Errorf("starts %v are not 8 minutes apart", starts)
	}
}

// Two minutes apart may be chance or a sequence: the fix is not called safe.
func TestPlanDoubtsCloseJobs(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/crontab", "0 3 * * * root /opt/dump\n2 3 * * * root /opt/pack\n")
	m := NewPlan(p, false).move(p.Entries[0])
	if m == nil || m.Edit.Safe || !strings.Contains(m.Edit.Why, "2 minutes") {
		t.Errorf("move %+v", m)
	}
}

// One unsafe member makes the whole chain unsafe.
func TestChainIsAsSafeAsItsMembers(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/crontab", "0 3 * * * root /opt/dump\n10 3 * * * root /opt/invoice\n")
	for _, g := range NewPlan(p, false).Groups {
		if len(g.Moves) != 2 {
			t.Errorf("%d moves, want 2", len(g.Moves))
		}
		for _, m := range g.Moves {
			if m.Edit.Safe || m.Edit.Why == "" {
				t.Errorf("%q is called safe", m.Entry.Command)
			}
		}
	}
}

// Lord Howe's clocks skip half an hour, 02:00 to 02:30: a job stays on its side.
func TestPlanAndTheClocks(t *testing.T) {
	for i := range 20 {
		text := "on:\n  schedule:\n    - cron: '0 2 * * *'\n      timezone: Australia/Lord_Howe\njobs: {}\n"
		path := fmt.Sprintf(".github/workflows/w%d.yml", i)
		p := passOf(t, lint.Options{}, path, text)
		m := NewPlan(p, false).move(p.Entries[0])
		if m == nil {
			t.Fatal("no move")
		}
		s, _ := schedule.Parse(schedule.GitHub, m.To)
		if at := s.Minutes.Next(0); at >= 2*60+30 {
			t.Errorf("02:00, in the gap, moved out of it to %02d:%02d", at/60, at%60)
		}
	}
}

func TestMinuteShape(t *testing.T) {
	for _, c := range []struct {
		d        schedule.Dialect
		text, to string // with minute 3; "" if it can't be moved
	}{
		{schedule.Vixie, "0 3 * * *", "3 3 * * *"},
		{schedule.Vixie, "00  3 * * *", "3  3 * * *"},
		{schedule.Vixie, "*/5 * * * *", "3-59/5 * * * *"},
		{schedule.Vixie, "0-59/20\t* * * *", "3-59/20\t* * * *"},
		{schedule.Vixie, "10-59/20 * * * *", "3-59/20 * * * *"},
		{schedule.Vixie, "@daily", "3 0 * * *"},
		{schedule.Robfig, "0/15 * * * *", "3-59/15 * * * *"},
		{schedule.Robfig, "CRON_TZ=Asia/Tokyo 0 3 * * *", "CRON_TZ=Asia/Tokyo 3 3 * * *"},
		{schedule.Quartz, "0 0 3 * * ?", "0 3 3 * * ?"},
		{schedule.EventBridge, "cron(0 3 * * ? *)", "cron(3 3 * * ? *)"},
		{schedule.Vixie, "*/7 * * * *", ""},
		{schedule.Vixie, "0,30 * * * *", ""},
		{schedule.Vixie, "* * * * *", ""},
		{schedule.Vixie, "0-30/5 * * * *", ""},
		{schedule.Systemd, "daily", ""},
		{schedule.Jenkins, "H * * * *", ""},
		{schedule.Vixie, "@reboot", ""},
		{schedule.EventBridge, "rate(5 minutes)", ""},
	} {
		s, err := schedule.Parse(c.d, c.text)
		if err != nil {
			t.Fatal(err)
		}
		sh := minuteShape(s)
		got := ""
		if sh.period > 0 {
			got = sh.moved(c.text, 3)
			if moved := proved(s, got); moved == nil || bits.OnesCount64(moved.MinutesOfHour()) != bits.OnesCount64(s.MinutesOfHour()) {
				t.Errorf("%v %q → %q is not proved", c.d, c.text, got)
			}
		}
		if got != c.to {
			t.Errorf("%v %q → %q, want %q", c.d, c.text, got, c.to)
		}
	}
}

func TestProvedRefuses(t *testing.T) {
	old, _ := schedule.Parse(schedule.Vixie, "0 3 1,15 * *")
	for _, text := range []string{"0 4 1,15 * *", "0,30 3 1,15 * *", "0 3 1,16 * *", "0 3 * * *", "0 3 1,15 * 1", "x"} {
		if proved(old, text) != nil {
			t.Errorf("%q is taken for the same days, hours and number of starts", text)
		}
	}
}

// TestWorstMinutesHoldTheirJobs checks the dates of the worst minutes fire by
// fire: what is said to start then starts, and nothing else.
func TestWorstMinutesHoldTheirJobs(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/crontab", "0 * * * * root /a\n*/10 * * * * root /b\n0 2 * * * root /c\n"+
		"*/15 1-5 1,15 * * root /d\n0 0 1 1 * root /e\n30 2 * * 1 root /f\n0 2 29 2 * root /g\n0 4 30 11 * root /h\n")
	for _, m := range Loads(p, NewPlan(p, false), 100)[0].Worst {
		var want, got []string
		for _, e := range p.Entries {
			if at := m.At.Add(-time.Minute); e.Schedule.Next(at).Equal(m.At) {
				want = append(want, e.Command)
			}
		}
		for _, e := range m.Jobs {
			got = append(got, e.Command)
		}
		if !slices.Equal(got, want) || float64(len(got)) != m.Starts {
			t.Errorf("%s: %q are said to start, %q do", m.At, got, want)
		}
	}
}

// Jobs that a hand has put a minute apart keep their order, even where only some
// of them stand at minutes that look like a chain.
func TestPlanDoubtsARowOfMinutes(t *testing.T) {
	p := passOf(t, lint.Options{}, "etc/cron.d/other", "15 6 * * * root /opt/x\n20 6 * * * root /opt/y\n",
		"etc/cron.d/row", "14 6 * * * root /opt/a\n15 6 * * * root /opt/b\n16 6 * * * root /opt/c\n20 6 * * * root /opt/d\n")
	moved := 0
	for _, g := range NewPlan(p, false).Groups {
		for _, m := range g.Moves {
			moved++
			if m.Entry.File.Path == "etc/cron.d/row" && m.Edit.Safe {
				t.Errorf("%q to %q is called safe", m.Entry.Raw, m.To)
			}
		}
	}
	if moved == 0 {
		t.Error("nothing moves, so nothing is shown")
	}
}
