package watch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// A Tooth is a herd of keys that is due.
type Tooth struct {
	Rule      string
	Severity  rule.Severity
	Subject   string // the pattern
	Patterns  []string
	From, To  time.Time // by this machine's clock
	Keys      uint64    // scaled to all keys, if only some were read
	Busiest   uint64    // most keys within one second, scaled
	Estimated bool
	ReadAt    time.Time // of the look that saw it last
}

const (
	// sure is the log10 of the false-alarm probability from which one look is enough for an alert. Looks are many, so
	// it is far below what one report asks for.
	sure = -6
	// settle is how long after a tooth its misses may last before it is over, quiet or not.
	settle = 30 * time.Second
	// confirmLead is how long before a tooth some of its keys are asked again: they may have been written anew.
	confirmLead = 3 * time.Second
	// drift is how far the beginning of a tooth may move from look to look for it to be the same keys.
	drift = time.Second
	// stillPlanned is the share of a tooth's keys that must still have their deadline.
	stillPlanned = 0.5
)

// A plan follows one tooth from the first look that sees it to its end.
type plan struct {
	Tooth
	looks    int       // in how many it was seen
	since    time.Time // when it was seen first, with about as many keys
	missed   int       // looks since then that did not see it
	origin   time.Time // when it began then
	peak     uint64    // most keys that a look saw in it
	log10p   float64
	told     Stage // "" before anything
	asked    bool  // whether its keys were asked again
	declined bool  // and found to be planned otherwise
	before   float64
	known    bool // before is
}

// schedule is what the looks foretell.
type schedule struct {
	lead   time.Duration
	budget float64
	plans  []*plan
	keys   map[int64][]scan.KeyRef // by the second of their deadline, server's clock
	offset time.Duration           // server's clock less ours
	readAt time.Time
	gap    time.Duration // between looks
}

// keysASecond is how many keys of each second ahead are remembered to be asked again, and keySeconds how many
// seconds ahead.
const (
	keysASecond = 8
	keySeconds  = 1800
)

// A Look is what one reading of the keyspace found.
type Look struct {
	At       time.Time // when it began, by this machine's clock
	Offset   time.Duration
	Analysis *ttlhist.Analysis
	// Next is the time until the next look, about.
	Next time.Duration
	// Keys are some keys for each second of deadlines ahead (Unix s, server's clock).
	Keys map[int64][]scan.KeyRef
}

// read takes over what a look found and returns what it takes back.
func (s *schedule) read(now time.Time, l Look) []Event {
	s.keys, s.offset, s.readAt, s.gap = l.Keys, l.Offset, l.At, l.Next
	fresh := s.teethOf(l)
	var out []Event
	var kept []*plan
	used := make([]bool, len(fresh))
	match := func(p *plan, same func(*plan, *plan) bool) bool {
		for i, f := range fresh {
			if !used[i] && same(p, f) {
				used[i] = true
				p.renew(f)
				return true
			}
		}
		return false
	}
	var unmatched []*plan
	for _, p := range s.plans {
		if match(p, sameTooth) {
			kept = append(kept, p)
		} else {
			unmatched = append(unmatched, p)
		}
	}
	for _, p := range unmatched {
		if match(p, sameMoment) {
			kept = append(kept, p)
			continue
		}
		p.missed++
		switch {
		case !p.From.After(now), p.holds(l), p.Estimated && p.missed < 2:
			kept = append(kept, p)
		case p.told == Due:
			out = append(out, p.event(now, Ended, "is not due any more: its keys were written anew or deleted"))
		}
	}
	for i, f := range fresh {
		if !used[i] {
			kept = append(kept, f)
		}
	}
	slices.SortStableFunc(kept, func(a, b *plan) int { return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Subject, b.Subject)) })
	s.plans = kept
	return out
}

// holds tells whether a look that did not name the tooth shows it all the same:
// close to its fall a tooth has too little before it to stand out from.
func (p *plan) holds(l Look) bool {
	patterns := p.Patterns
	var n uint64
	for i := range l.Analysis.Groups {
		g := &l.Analysis.Groups[i]
		if slices.Contains(patterns, g.Pattern) {
			n += deadlines(g, p.From.Add(l.Offset).UnixMilli()-1, p.To.Add(l.Offset).UnixMilli())
		}
	}
	if s := l.Analysis.Sampled; s > 0 && s < 1 {
		n = scaled(n, 1/s)
	}
	return float64(n) >= stillPlanned*float64(p.Keys)
}

// teethOf are the teeth ahead of a look that somebody would have to bear.
func (s *schedule) teethOf(l Look) []*plan {
	var out []*plan
	a := l.Analysis
	scale := 1.0
	if a.Sampled > 0 && a.Sampled < 1 {
		scale = 1 / a.Sampled
	}
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Rule != "HS401" || f.Herd == nil || f.Herd.Within >= 0 || f.Severity < rule.Warning {
			continue
		}
		for _, t := range f.Herd.Teeth {
			if t.To.Before(a.Now) {
				continue
			}
			p := &plan{looks: 1, since: l.At, origin: t.From.Add(-l.Offset), peak: scaled(t.Keys, scale), log10p: t.Log10P, Tooth: Tooth{
				Rule: f.Rule, Severity: f.Severity, Subject: f.Subject, Patterns: f.Patterns,
				From: t.From.Add(-l.Offset), To: t.To.Add(-l.Offset),
				Keys: scaled(t.Keys, scale), Busiest: scaled(t.Busiest, scale), Estimated: scale > 1, ReadAt: l.At,
			}}
			if s.budget > 0 && float64(p.Busiest) > s.budget {
				p.Severity = rule.Error
			}
			out = append(out, p)
		}
	}
	return out
}

func scaled(n uint64, by float64) uint64 { return uint64(math.Round(float64(n) * by)) }

func sameTooth(a, b *plan) bool { return a.Subject == b.Subject && a.meets(b) }

// sameMoment lets a herd keep its name when a look calls it by another: a
// herd of one pattern may be part of one across patterns in the next look.
func sameMoment(a, b *plan) bool {
	return a.meets(b) && (len(a.Patterns) > 1 || len(b.Patterns) > 1)
}

func (p *plan) meets(o *plan) bool {
	const slack = 2 * time.Second
	return !p.From.After(o.To.Add(slack)) && !o.From.After(p.To.Add(slack))
}

// renew takes over what a later look saw of the same tooth.
func (p *plan) renew(f *plan) {
	subject, patterns, keys := p.Subject, p.Patterns, p.Keys
	if p.told == "" {
		subject, patterns = f.Subject, f.Patterns
	}
	from := p.From
	if p.told != Begins {
		from = f.From
	}
	p.Tooth = f.Tooth
	p.Subject, p.Patterns, p.From = subject, patterns, from
	p.log10p, p.missed = min(p.log10p, f.log10p), 0
	p.looks++
	p.peak = max(p.peak, f.Keys)
	if f.Keys < keys/2 || f.From.Sub(p.origin) > drift { // renewed keys move on, and their tooth with them
		p.origin = f.From
		p.since, p.looks = f.since, 1
	}
	if p.declined && f.From.After(from) {
		p.declined, p.asked = false, false
	}
}

// certain tells whether the tooth was seen well enough for an alert: in two
// looks, and for a part of the time it had left when it was seen first, because
// what was written just now may be renewed, and a tooth that loses keys from
// look to look is; in one look if there is no time for another.
func (s *schedule) certain(p *plan, now time.Time) bool {
	const part, most = 5, 0.8
	if p.From.Sub(now) < 2*s.gap {
		return p.looks > 1 || p.log10p <= sure
	}
	return p.looks > 1 && now.Sub(p.since) >= p.From.Sub(p.since)/part && float64(p.Keys) >= most*float64(p.peak)
}

func (p *plan) event(now time.Time, s Stage, text string) Event {
	p.told = s
	return Event{
		At: now, Stage: s, Rule: p.Rule, Severity: p.Severity, Subject: p.Subject, Text: text,
		Tooth: p.From, Count: p.Keys, Unit: "keys", Width: p.To.Sub(p.From),
	}
}

// tick tells what has come near, begun or ended since the last call.
func (s *schedule) tick(now time.Time, h *history) []Event {
	var out []Event
	kept := s.plans[:0]
	for _, p := range s.plans {
		if e, ok := s.step(now, p, h); ok {
			out = append(out, e)
		}
		if p.told != Ended && !(p.declined && now.After(p.To)) {
			kept = append(kept, p)
		}
	}
	s.plans = kept
	return out
}

func (s *schedule) step(now time.Time, p *plan, h *history) (Event, bool) {
	in := p.From.Sub(now)
	switch {
	case p.told == "" && in > 0 && in <= s.lead && s.certain(p, now) && !p.declined:
		return p.event(now, Due, fmt.Sprintf("%s expire within %s, in %s%s", count(p.Keys, "keys", p.Estimated), Span(max(p.To.Sub(p.From), time.Second)), Span(in), p.of())), true
	case (p.told == "" || p.told == Due) && in <= 0 && !p.declined:
		if !s.certain(p, now) {
			p.told = Ended // one doubtful look, and no time for another
			return Event{}, false
		}
		p.before, p.known = h.usual(now.Add(-time.Minute), p.From, missesOf)
		return p.event(now, Begins, fmt.Sprintf("%s expire now, within %s, by the deadlines read %s ago%s", count(p.Keys, "keys", p.Estimated), Span(max(p.To.Sub(p.From), time.Second)), Span(now.Sub(p.ReadAt)), p.of())), true
	case p.told == Begins && s.over(now, p, h):
		return p.event(now, Ended, p.outcome(now, h)), true
	case p.told == Due && p.declined:
		return p.event(now, Ended, "is not due any more: its keys were written anew"), true
	}
	return Event{}, false
}

// of names the patterns of a herd across several.
func (p *plan) of() string {
	if len(p.Patterns) < 2 {
		return ""
	}
	const most = 3
	names := strings.Join(p.Patterns[:min(most, len(p.Patterns))], ", ")
	if n := len(p.Patterns) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return " (" + names + ")"
}

// over tells whether a tooth has passed and the misses with it.
func (s *schedule) over(now time.Time, p *plan, h *history) bool {
	const pause = 2 * time.Second
	if now.Before(p.To.Add(pause)) {
		return false
	}
	if !p.known || !now.Before(p.To.Add(settle)) {
		return true
	}
	return h.most(now.Add(-pause), now, missesOf) <= 2*p.before+5
}

// outcome says what the tooth did.
func (p *plan) outcome(now time.Time, h *history) string {
	text := fmt.Sprintf("%s reached their deadline within %s", count(p.Keys, "keys", p.Estimated), Span(max(p.To.Sub(p.From), time.Second)))
	if !p.known {
		return text
	}
	if !h.sees(p.From) {
		return text + "; what it did to the misses was not seen"
	}
	most := h.most(p.From, now, missesOf)
	return text + fmt.Sprintf("; misses %s a second before, %s at most", rate(p.before), rate(most))
}

// void drops all that was foretold, because the cache was emptied.
func (s *schedule) void(now time.Time) []Event {
	var out []Event
	for _, p := range s.plans {
		if p.told == Due || p.told == Begins {
			out = append(out, p.event(now, Ended, "is over: the cache was emptied"))
		}
	}
	s.plans, s.keys = nil, nil
	return out
}

// A Check is a question about keys of a tooth that is near.
type Check struct {
	Keys    []scan.KeyRef
	Expires []int64 // the second of the deadline of each, server's clock
	plan    *plan
}

// check returns the keys to ask again, at most one tooth at a time.
func (s *schedule) check(now time.Time) (Check, bool) {
	const most = 64
	for _, p := range s.plans {
		if p.asked || p.told == Begins || p.From.Sub(now) > confirmLead || !p.From.After(now) {
			continue
		}
		p.asked = true
		c := Check{plan: p}
		from, to := p.From.Add(s.offset).Unix(), p.To.Add(s.offset).Unix()
		for sec := from; sec <= to && len(c.Keys) < most; sec++ {
			for _, k := range s.keys[sec] {
				if len(p.Patterns) < 2 && ttlhist.Pattern(k.Name) != p.Subject {
					continue
				}
				c.Keys, c.Expires = append(c.Keys, k), append(c.Expires, sec)
			}
		}
		if len(c.Keys) > 0 {
			return c, true
		}
	}
	return Check{}, false
}

// answer takes the deadlines that the keys of a check have now (Unix ms).
func (c Check) answer(expires []int64) {
	same := 0
	for i, ms := range expires {
		if ms == scan.Gone || ms/1000 == c.Expires[i] { // gone: it died a moment ago
			same++
		}
	}
	c.plan.declined = float64(same) < stillPlanned*float64(len(expires))
}
