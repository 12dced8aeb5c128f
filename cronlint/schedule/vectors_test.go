package schedule

import (
	"os"
	"strings"
	"testing"
	"time"
)

// sharedFile reads a file of reference data that is not part of the project.
func sharedFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("reference data missing: %v", err)
		}
		t.Skipf("reference data missing: %v", err)
	}
	return string(b)
}

// vector is one line "zone|base|expression => fire fire ...".
type vector struct {
	zone, base, expr, want string
}

func readVectors(t *testing.T, path string) (all []vector) {
	for line := range strings.Lines(sharedFile(t, path)) {
		head, want, ok := strings.Cut(strings.TrimSpace(line), " =>")
		if !ok {
			continue
		}
		p := strings.SplitN(head, "|", 3)
		all = append(all, vector{p[0], p[1], p[2], strings.TrimSpace(want)})
	}
	if len(all) == 0 {
		t.Fatalf("no vectors in %s", path)
	}
	return all
}

func (v vector) start(t *testing.T) time.Time {
	t.Helper()
	loc, err := time.LoadLocation(v.zone)
	if err != nil {
		t.Fatal(err)
	}
	base, err := time.ParseInLocation("2006-01-02 15:04", v.base, loc)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func (v vector) fires() (times []string) {
	for _, w := range strings.Fields(v.want) {
		if _, err := time.Parse("2006-01-02T15:04Z07:00", w); err == nil {
			times = append(times, w)
		}
	}
	return times
}

func nextFires(s *Schedule, from time.Time, n int) (got []string) {
	for t := range s.Fires(from, from.AddDate(9, 0, 0)) {
		got = append(got, t.UTC().Format("2006-01-02T15:04Z07:00"))
		if len(got) == n {
			break
		}
	}
	return got
}

// The vectors of cronie come from its matcher, asked minute by minute: they
// leave out what its main loop does when the clocks change. TestCatchUp
// covers that.
func TestCronieVectors(t *testing.T) {
	for _, v := range readVectors(t, "../../../shared/facts/vectors/vectors-cronie.txt") {
		s, err := Parse(Cronie, v.expr)
		if strings.HasPrefix(v.want, "ERR") {
			if err == nil {
				t.Errorf("%s: accepted, but cronie says %s", v.expr, v.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v, but cronie accepts it", v.expr, err)
			continue
		}
		if s.Drawn {
			continue // the minute is random in cronie
		}
		s.clock = Wall
		want := v.fires()
		if got := nextFires(s, v.start(t), 4); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s in %s after %s:\n got %v\nwant %v", v.expr, v.zone, v.base, got, want)
		}
		if fixed := strings.Contains(v.want, "[fixed]"); fixed != s.fixedTime {
			t.Errorf("%s: fixed time %v, cronie says %v", v.expr, s.fixedTime, fixed)
		}
	}
}

func TestQuartzVectors(t *testing.T) {
	for _, v := range readVectors(t, "../../../shared/facts/vectors/vectors-quartz.txt") {
		s, err := Parse(Quartz, v.expr)
		if strings.HasPrefix(v.want, "ERR") {
			if err == nil {
				t.Errorf("%s: accepted, but Quartz says %s", v.expr, v.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v, but Quartz accepts it", v.expr, err)
			continue
		}
		if got := nextFires(s, v.start(t), 4); strings.Join(got, " ") != strings.Join(v.fires(), " ") {
			t.Errorf("%s in %s after %s:\n got %v\nwant %v", v.expr, v.zone, v.base, got, v.fires())
		}
	}
}
