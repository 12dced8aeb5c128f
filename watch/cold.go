package watch

import (
	"fmt"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

const (
	// emptied is the share of a server's keys that must have gone at once.
	emptied = 0.5
	// fewKeys is the size below which an emptied cache harms nobody.
	fewKeys = 20
	// manyKeys is the size from which so great a loss needs no FLUSHALL to be believed.
	manyKeys = 1000
	// coldFor is the longest time that a cache is called cold.
	coldFor = 2 * time.Minute
	// coldLeast is the shortest.
	coldLeast = 5 * time.Second
)

// cold follows a cache that was emptied at once.
type cold struct {
	at     time.Time // zero: it is not cold
	event  Event
	before float64 // misses a second
	known  bool
}

// strike looks at what happened to a server between two looks. deadlines is
// how many keys were due in that time by the schedule.
func (c *cold) strike(now time.Time, j jolt, deadlines uint64, h *history, budget float64) (Event, bool) {
	gone := grown(j.keysAfter, j.keysBefore)
	if j.flushes > 0 { // they may have been written anew since: their misses tell
		gone = max(gone, min(j.misses, j.keysBefore))
	}
	if j.keysBefore < fewKeys || float64(gone) < emptied*float64(j.keysBefore) {
		return Event{}, false
	}
	var how string
	switch {
	case j.restarted:
		how = "the server was started anew without its data"
	case j.flushes > 0:
		how = "FLUSHALL or FLUSHDB was called"
	case j.keysBefore >= manyKeys && gone > 2*deadlines+uint64(manyKeys/2):
		how = "no FLUSHALL was seen, and no deadlines tell of it"
	default:
		return Event{}, false
	}
	c.at = now
	c.before, c.known = h.usual(now.Add(-time.Minute), now, missesOf)
	c.event = Event{
		At: now, Stage: Begins, Rule: "HS411", Severity: rule.Warning, Subject: j.server, Tooth: now, Count: gone, Unit: "keys",
		Text: fmt.Sprintf("the cache was emptied: %s of %s were lost (%s). Every read misses until they are written anew, and what is written together now with one TTL dies together", thousands(gone), count(j.keysBefore, "keys", false), how),
	}
	if budget > 0 && float64(gone) > budget*60 {
		c.event.Severity = rule.Error
	}
	return c.event, true
}

// tick tells when the misses are back to what they were.
func (c *cold) tick(now time.Time, h *history) (Event, bool) {
	if c.at.IsZero() || now.Sub(c.at) < coldLeast {
		return Event{}, false
	}
	const pause = 3 * time.Second
	quiet := c.known && h.most(now.Add(-pause), now, missesOf) <= 2*c.before+5
	if !quiet && now.Sub(c.at) < coldFor {
		return Event{}, false
	}
	e := c.event
	e.At, e.Stage = now, Ended
	e.Text = fmt.Sprintf("%s after the cache was emptied", Span(now.Sub(c.at)))
	if c.known {
		most := h.most(c.at.Add(-pause), now, missesOf)
		e.Text = fmt.Sprintf("the misses are back: %s a second before, %s at most; %s after the cache was emptied", rate(c.before), rate(most), Span(now.Sub(c.at)))
		if !quiet {
			e.Text = fmt.Sprintf("the misses are still above what they were (%s a second before); no longer followed", rate(c.before))
		}
	}
	c.at = time.Time{}
	return e, true
}
