package schedule

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/cronexpr"
	"github.com/robfig/cron/v3"
)

// generator makes random schedules of the cron family.
type generator struct{ r *rand.Rand }

func newGenerator(seed uint64) generator {
	return generator{rand.New(rand.NewPCG(seed, seed))}
}

func (g generator) between(lo, hi int) int { return lo + g.r.IntN(hi-lo+1) }

// item is one element of a field; now and then it is out of range or backwards.
func (g generator) item(lo, hi int, names []string) string {
	v := func() string {
		n := g.between(lo, hi)
		if g.r.IntN(40) == 0 {
			n = g.between(0, hi+3)
		}
		if names != nil && n < len(names)+lo && n >= lo && g.r.IntN(4) == 0 {
			return names[n-lo]
		}
		return fmt.Sprint(n)
	}
	switch g.r.IntN(6) {
	case 0:
		return "*"
	case 1:
		return "*/" + fmt.Sprint(g.between(1, hi+2))
	case 2:
		return v() + "-" + v()
	case 3:
		return v() + "-" + fmt.Sprint(hi) + "/" + fmt.Sprint(g.between(1, max(2, hi/2)))
	case 4:
		return v() + "/" + fmt.Sprint(g.between(1, hi))
	default:
		return v()
	}
}

func (g generator) field(lo, hi int, names []string) string {
	if g.r.IntN(3) == 0 {
		return "*"
	}
	items := []string{g.item(lo, hi, names)}
	for g.r.IntN(3) == 0 {
		items = append(items, g.item(lo, hi, names))
	}
	return strings.Join(items, ",")
}

func (g generator) five() string {
	return strings.Join([]string{
		g.field(0, 59, nil), g.field(0, 23, nil), g.field(1, 31, nil),
		g.field(1, 12, shortMonths[:]), g.field(0, 6, shortDays[:]),
	}, " ")
}

func (g generator) instant(zone *time.Location) time.Time {
	return time.Date(g.between(2020, 2030), time.Month(g.between(1, 12)), g.between(1, 28), g.between(0, 23), g.between(0, 59), 0, 0, zone)
}

// oracleZones change their clocks by whole hours on the hour. robfig walks in
// steps of an hour and misses fires where the clocks move by half an hour
// (Lord Howe), so such zones can't judge.
var oracleZones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "America/Santiago"}

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// compare walks n fires of both and reports the first difference.
func compare(ours *Schedule, theirs func(time.Time) time.Time, from time.Time, n int) string {
	at := from
	for range n {
		got, want := ours.Next(at), theirs(at)
		if want.IsZero() && got.Sub(at) > 5*365*24*time.Hour {
			return "" // they give up after some years
		}
		if !got.Equal(want) {
			return fmt.Sprintf("after %v:\n got %v\nwant %v", at, got, want)
		}
		if want.IsZero() {
			return ""
		}
		at = want
	}
	return ""
}

func TestRobfigOracle(t *testing.T) {
	g := newGenerator(1)
	accepted := 0
	for range 4000 {
		text := g.five()
		ours, err := Parse(Robfig, text)
		theirs, theirErr := cron.ParseStandard(text)
		if (err == nil) != (theirErr == nil) {
			t.Errorf("%q: we say %v, robfig says %v", text, err, theirErr)
			continue
		}
		if err != nil {
			continue
		}
		accepted++
		zone := load(t, oracleZones[g.r.IntN(len(oracleZones))])
		if diff := compare(ours, theirs.Next, g.instant(zone), 12); diff != "" {
			t.Errorf("%q in %v %s", text, zone, diff)
		}
	}
	if accepted < 2000 {
		t.Errorf("only %d schedules were valid", accepted)
	}
}

func TestCronexprOracle(t *testing.T) {
	g := newGenerator(2)
	accepted := 0
	for range 3000 {
		text := g.five()
		ours, err := Parse(Cronexpr, text)
		theirs, theirErr := cronexpr.Parse(text)
		if (err == nil) != (theirErr == nil) {
			// Known bug: after a plain * in the list, cronexpr looks at the
			// field's other elements no more, so it accepts "*,60".
			if hidden := err != nil && strings.Contains(text, "*,"); !hidden {
				t.Errorf("%q: we say %v, cronexpr says %v", text, err, theirErr)
			}
			continue
		}
		if err != nil || emptyList(ours) {
			continue
		}
		accepted++
		if diff := compare(ours, theirs.Next, g.instant(time.UTC), 12); diff != "" {
			t.Errorf("%q %s", text, diff)
		}
	}
	if accepted < 1500 {
		t.Errorf("only %d schedules were valid", accepted)
	}
}

// emptyList reports whether a field holds nothing: cronexpr then panics or
// answers with the zero time.
func emptyList(s *Schedule) bool {
	for _, f := range s.Fields {
		if f.Bits == 0 {
			return true
		}
	}
	return false
}
