package watch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
)

const (
	// herdCopies is the number of misses of one key, or of rebuilds, that make a stampede. In-process single-flight
	// rebuilds once for each process, and few services have so many.
	herdCopies = 20
	// missGap ends a run of misses of one key.
	missGap = time.Second
	// longRun is a run of misses that no rebuild will end.
	longRun = 30 * time.Second
	// proofTime is how long after the last miss writes are waited for, besides the length of the run itself.
	proofTime = 2 * time.Second
	// sureNoise is how many times the usual scatter of the writes their excess must be.
	sureNoise = 6
	// maxRuns bounds the keys whose misses are followed at once.
	maxRuns = 4096
	// maxHot bounds the keys that had a stampede and are followed for their next deadline.
	maxHot = 64
)

type keyID struct {
	db  int
	key string
}

// A missRun is a run of misses of one key.
type missRun struct {
	first, last time.Time
	n           uint64
	others      uint64 // misses of all keys before it began
	told        bool
}

// span is how long the run has lasted, a tenth of a second at least.
func (r *missRun) span() time.Duration { return max(r.last.Sub(r.first), 100*time.Millisecond) }

// A Rebuild is what MONITOR shows of one key: it was asked for by several
// clients while it was not there, and then written.
type Rebuild struct {
	DB       int
	Key      string
	From     time.Time     // the first read that found nothing, this machine's clock
	Missed   int           // reads that found nothing
	Clients  int           // connections that asked
	Hosts    int           // addresses they came from
	Written  int           // writes by clients that had found nothing
	InFlight int           // clients that found nothing and have not written yet
	Took     time.Duration // a rebuild, about
}

// A HotKey is a key that had a stampede while somebody watched.
type HotKey struct {
	DB     int
	Key    string
	Teeth  int
	Misses uint64    // at its last death
	Expire time.Time // its next deadline, this machine's clock; zero if unknown

	told time.Time // the deadline that was told as due
}

// stampedes finds keys that many ask for at once while they are not there.
type stampedes struct {
	lead   time.Duration
	budget float64

	runs   map[keyID]*missRun
	total  uint64 // misses of all keys
	lost   uint64 // misses of keys beyond maxRuns
	active map[keyID]*stampede
	hot    map[keyID]*HotKey
}

// A stampede is one death of one key, from the first proof to the end.
type stampede struct {
	from, last time.Time
	misses     uint64
	inFlight   int
	written    int
	event      Event
}

func newStampedes(lead time.Duration, budget float64) *stampedes {
	return &stampedes{
		lead: lead, budget: budget,
		runs: make(map[keyID]*missRun), active: make(map[keyID]*stampede), hot: make(map[keyID]*HotKey),
	}
}

// miss counts one keymiss event.
func (s *stampedes) miss(now time.Time, m scan.KeyMiss) {
	s.total++
	id := keyID{m.DB, m.Key}
	r := s.runs[id]
	if r == nil {
		if len(s.runs) >= maxRuns {
			s.lost++
			return
		}
		r = &missRun{first: now, others: s.total - 1}
		s.runs[id] = r
	}
	r.last = now
	r.n++
	if a := s.active[id]; a != nil {
		a.last, a.misses = now, max(a.misses, r.n)
	}
}

// tick judges the runs of misses.
func (s *stampedes) tick(now time.Time, h *history) []Event {
	var out []Event
	for id, r := range s.runs {
		if e, ok := s.judge(now, id, r, h); ok {
			out = append(out, e)
		}
		idle := now.Sub(r.last)
		if idle > missGap && (r.n < herdCopies || r.told || idle > r.span()+2*proofTime) {
			delete(s.runs, id)
		}
	}
	out = append(out, s.end(now)...)
	out = append(out, s.due(now)...)
	slices.SortFunc(out, func(a, b Event) int { return strings.Compare(a.Subject, b.Subject) })
	return out
}

// judge tells whether a run of misses is a stampede: many misses of one key,
// and as many writes beyond the usual. A key that one caller rebuilds for all
// is missed as often, but written once.
func (s *stampedes) judge(now time.Time, id keyID, r *missRun, h *history) (Event, bool) {
	long := now.Sub(r.first)
	if r.told || r.n < herdCopies || s.active[id] != nil {
		return Event{}, false
	}
	if r.last.Sub(r.first) > longRun {
		r.told = true
		return Event{
			At: now, Stage: Begins, Rule: "HS506", Severity: rule.Note, Subject: subjectOf(id), Count: r.n, Unit: "misses", Tooth: r.first,
			Text: fmt.Sprintf("was asked for %s times within %s and is never there: absence is not cached", thousands(r.n), Span(long)),
		}, true
	}
	span := r.span()
	h.mark(r.first, now)
	usual, noise, known := h.spread(r.first.Add(-time.Minute), r.first, changesOf)
	writes, over := h.excess(r.first, now, usual, changesOf)
	writes -= float64(s.total - r.others - r.n) // misses of other keys: each may be rebuilt too
	need := max(herdCopies, 0.3*float64(r.n))
	noise *= sureNoise * math.Sqrt(over.Seconds())
	switch {
	case known && writes >= need && writes >= noise:
		r.told = true
		return s.begin(now, id, r.first, r.n, rule.Warning, fmt.Sprintf("was missed %s times within %s, and about %s writes more than usual followed: its callers rebuild it side by side",
			thousands(r.n), Span(span), thousands(uint64(writes)))), true
	case now.Sub(r.last) < span+proofTime || known && noise < need:
		return Event{}, false // not over yet; or it is, and was rebuilt a few times only
	}
	r.told = true
	return s.begin(now, id, r.first, r.n, rule.Note, fmt.Sprintf("was missed %s times within %s; how often it was rebuilt can't be told from other writes", thousands(r.n), Span(span))), true
}

// begin opens a stampede of a key.
func (s *stampedes) begin(now time.Time, id keyID, from time.Time, misses uint64, severity rule.Severity, text string) Event {
	e := Event{
		At: now, Stage: Begins, Rule: "HS410", Severity: severity, Subject: subjectOf(id), Text: text,
		Tooth: from, Count: misses, Unit: "misses",
	}
	if severity == rule.Warning && s.budget > 0 && float64(misses) > s.budget*max(1, now.Sub(from).Seconds()) {
		e.Severity = rule.Error
	}
	s.active[id] = &stampede{from: from, last: now, misses: misses, event: e}
	if severity >= rule.Warning {
		s.heat(id, misses)
	}
	return e
}

// heat remembers a key that had a stampede.
func (s *stampedes) heat(id keyID, misses uint64) {
	k := s.hot[id]
	if k == nil {
		if len(s.hot) >= maxHot {
			s.dropHot()
		}
		k = &HotKey{DB: id.db, Key: id.key}
		s.hot[id] = k
	}
	k.Teeth++
	k.Misses, k.Expire = misses, time.Time{}
}

// dropHot forgets one of the keys with the fewest teeth.
func (s *stampedes) dropHot() {
	var least keyID
	n := -1
	for id, k := range s.hot {
		if n < 0 || k.Teeth < n || k.Teeth == n && id.key < least.key {
			least, n = id, k.Teeth
		}
	}
	delete(s.hot, least)
}

// rebuilds takes what MONITOR shows.
func (s *stampedes) rebuilds(now time.Time, list []Rebuild) []Event {
	var out []Event
	for _, r := range list {
		id := keyID{r.DB, r.Key}
		a := s.active[id]
		if a == nil {
			if r.Written < herdCopies || r.Missed < herdCopies {
				continue
			}
			out = append(out, s.begin(now, id, r.From, uint64(r.Missed), rule.Warning, fmt.Sprintf(
				"was missed by at least %s reads on %s from %s at once, and written %s times so far, which takes %s each time: its callers rebuild it side by side",
				thousands(uint64(r.Missed)), count(uint64(r.Clients), "connections", false), count(uint64(r.Hosts), "hosts", false), thousands(uint64(r.Written)), Span(r.Took))))
			a = s.active[id]
		}
		if a.inFlight != r.InFlight || a.written < r.Written {
			a.last = now
		}
		a.inFlight, a.written, a.misses = r.InFlight, max(a.written, r.Written), max(a.misses, uint64(r.Missed))
	}
	return out
}

// end closes stampedes that have gone quiet.
func (s *stampedes) end(now time.Time) []Event {
	var out []Event
	for id, a := range s.active {
		if now.Sub(a.last) < proofTime {
			continue
		}
		e := a.event
		e.At, e.Stage, e.Count, e.Width = now, Ended, a.misses, a.last.Sub(a.from)
		e.Text = fmt.Sprintf("is there again: missed %s times in this death", thousands(a.misses))
		if a.written > 0 {
			e.Text += fmt.Sprintf(", written %s times", thousands(uint64(a.written)))
		}
		if k := s.hot[id]; k != nil {
			k.Misses = a.misses
		}
		out = append(out, e)
		delete(s.active, id)
	}
	return out
}

// due tells which hot keys die soon, once for each of their deadlines.
func (s *stampedes) due(now time.Time) []Event {
	var out []Event
	for id, k := range s.hot {
		in := k.Expire.Sub(now)
		if k.Expire.IsZero() || in <= 0 || in > s.lead || s.active[id] != nil || k.Expire.Sub(k.told).Abs() < time.Second {
			continue
		}
		k.told = k.Expire
		e := Event{
			At: now, Stage: Due, Rule: "HS410", Severity: rule.Warning, Subject: subjectOf(id), Tooth: k.Expire, Count: k.Misses, Unit: "misses",
			Text: fmt.Sprintf("expires in %s; at its last death it was missed %s times at once", Span(in), thousands(k.Misses)),
		}
		if s.budget > 0 && float64(k.Misses) > s.budget {
			e.Severity = rule.Error
		}
		out = append(out, e)
	}
	return out
}

// inFlight is how many rebuilds are under way, as far as is seen.
func (s *stampedes) inFlight() (n int) {
	for _, a := range s.active {
		n += a.inFlight
	}
	return n
}

// subjectOf names a key; of databases other than 0 with its number.
func subjectOf(id keyID) string {
	if id.db == 0 {
		return id.key
	}
	return fmt.Sprintf("%s (db %d)", id.key, id.db)
}
