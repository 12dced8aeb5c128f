package ttlhist

import (
	"fmt"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// pinShare is the share of deadlines that must sit on an instant.
const pinShare = 0.95

// pin tells on which instants of the wall clock the deadlines of a group sit.
// Only sources that know milliseconds can tell.
func (g *Group) pin(zone *time.Location) Pin {
	const fewest = 10
	if g.row == nil || g.row.precise < fewest || g.row.precise < g.WithTTL {
		return NotPinned
	}
	share := func(n uint64) bool { return float64(n) >= pinShare*float64(g.row.precise) }
	switch {
	case share(g.row.minute) && g.atMidnight(zone):
		return Midnight
	case share(g.row.hour):
		return Hour
	case share(g.row.minute):
		return Minute
	case g.row.whole == g.row.precise:
		return WholeSecond
	}
	return NotPinned
}

// atMidnight tells whether nearly all deadlines are midnights in a zone or in
// UTC.
func (g *Group) atMidnight(zone *time.Location) bool {
	if zone == nil {
		zone = time.UTC
	}
	var local, utc, all uint64
	for _, b := range g.series {
		t := time.UnixMilli(b.At + g.Bin.Milliseconds()/2 + pinSlack) // a deadline just before midnight counts
		all += b.Count
		if midnight(t.In(zone)) {
			local += b.Count
		}
		if midnight(t.UTC()) {
			utc += b.Count
		}
	}
	return float64(max(local, utc)) >= pinShare*float64(all)
}

func midnight(t time.Time) bool { return t.Hour() == 0 && t.Minute() == 0 }

// wallClock reports deadlines that were set as a time of day (HS407).
func (a *analyser) wallClock() {
	for i := range a.Groups {
		g := &a.Groups[i]
		pin := g.pin(a.Location)
		if pin == NotPinned || g.WithTTL < uint64(a.MinKeys) {
			continue
		}
		f := Finding{
			Rule: "HS407", Severity: rule.Note, Subject: g.Pattern, Patterns: []string{g.Pattern}, Count: g.WithTTL,
			Confidence: Certain,
			Why:        fmt.Sprintf("%s keys expire on %s: their deadlines were set as a time of day (EXPIREAT), so every copy of the program sets the same one.", thousands(g.WithTTL), pin),
			Refutes:    "code that sets these keys with a time to live (EX, PX, EXPIRE)",
			Fix:        "if they are cached values, add some random seconds to the deadline; a counter of a fixed window is meant to end so",
		}
		if len(ahead(g.Teeth, a.Analysis.Now)) > 0 {
			f.Herd = a.herd(g)
		}
		if pin == WholeSecond {
			f.Confidence = Likely
			f.Why = fmt.Sprintf("all %s deadlines are whole seconds, which a time to live gives by chance once in 1000 keys: they were set as a time of day (EXPIREAT, EXAT).", thousands(g.WithTTL))
		}
		a.found(f)
	}
}
