package schedule

import (
	"strconv"
	"strings"
	"time"
)

// parseEventBridge reads cron(...), rate(...) and at(...).
func parseEventBridge(text string) (*Schedule, *ParseError) {
	name, rest, ok := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(strings.TrimRight(rest, " \t"), ")")
	if !ok || !closed {
		return nil, errorAt(0, len(text), "write cron(...), rate(...) or at(...)")
	}
	base := len(name) + 1
	switch strings.TrimSpace(name) {
	case "cron":
		p := cronParser{g: &grammars[EventBridge]}
		words := split(inner, base)
		if len(words) == 0 {
			return nil, errorAt(base, base+len(inner), "the schedule is empty")
		}
		return p.fields(words)
	case "rate":
		return parseRate(inner, base)
	case "at":
		return parseAt(inner, base)
	}
	return nil, errorAt(0, len(name), "%q is none of cron, rate and at", name)
}

var rateUnits = map[string]time.Duration{
	"minute": time.Minute, "minutes": time.Minute, "hour": time.Hour, "hours": time.Hour,
	"day": 24 * time.Hour, "days": 24 * time.Hour,
}

// parseRate reads "5 minutes". It counts from the rule's creation.
func parseRate(text string, base int) (*Schedule, *ParseError) {
	words := split(text, base)
	if len(words) != 2 {
		return nil, errorAt(base, base+len(text), "write rate(5 minutes)")
	}
	n, err := strconv.Atoi(words[0].text)
	if err != nil || n <= 0 || n > 1_000_000 {
		return nil, errorAt(words[0].start, words[0].end(), "%q is not a positive number", words[0].text)
	}
	unit, ok := rateUnits[words[1].text]
	if !ok {
		return nil, errorAt(words[1].start, words[1].end(), "%q is not minutes, hours or days", words[1].text)
	}
	return &Schedule{Interval: time.Duration(n) * unit}, nil
}

// parseAt reads a single local time, 2026-11-20T13:00:00.
func parseAt(text string, base int) (*Schedule, *ParseError) {
	t, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		return nil, errorAt(base, base+len(text), "%q is not a time such as 2026-11-20T13:00:00", text)
	}
	s := &Schedule{Seconds: 1 << t.Second()}
	s.Minutes.Add(t.Hour()*60 + t.Minute())
	s.days.date = &civilDay{t.Year(), t.Month(), t.Day()}
	return s, nil
}
