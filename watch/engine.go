package watch

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/live"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// EngineOptions are the settings of an Engine.
type EngineOptions struct {
	// Lead is how long before a tooth its herd is told as due; 5 minutes if 0.
	Lead time.Duration
	// Budget is what the store or database can take in one second. A herd beyond it is an error; 0: not judged.
	Budget float64
}

const defaultLead = 5 * time.Minute

// maxHerds bounds the herds that are remembered for the end, and maxTeeth the
// fallen teeth of each.
const (
	maxHerds = 1000
	maxTeeth = 1000
	maxTold  = 200
)

// An Engine holds what is known of a deployment and draws conclusions. Its
// methods may be called at the same time. Times are those of this machine's
// clock, and never go back.
type Engine struct {
	mu        sync.Mutex
	opts      EngineOptions
	pulse     pulse
	history   history
	rates     Rates
	vitals    []scan.Vitals
	schedule  schedule
	stampedes *stampedes
	cold      cold
	queries   queries
	running   []live.Running
	look      Look
	analysis  *ttlhist.Analysis // of the last look
	queried   *querylog.Analysis
	limits    map[string]string
	herds     map[string]*Herd
	told      []Event
	fallen    fallen
	totals    Totals
	hottest   []scan.Detail
}

// NewEngine returns an Engine that knows nothing yet.
func NewEngine(o EngineOptions) *Engine {
	o.Lead = cmp.Or(o.Lead, defaultLead)
	return &Engine{
		opts: o, schedule: schedule{lead: o.Lead, budget: o.Budget}, stampedes: newStampedes(o.Lead, o.Budget),
		queries: queries{lead: o.Lead, budget: o.Budget, going: make(map[string]*queryHerd)},
		limits:  make(map[string]string), herds: make(map[string]*Herd),
	}
}

// ObserveVitals takes the counters of the servers and what herdscan itself
// added to them since the last call. emptied tells that the cache has lost
// most of its keys: what was foretold is void.
func (e *Engine) ObserveVitals(now time.Time, vitals []scan.Vitals, own Own) (events []Event, emptied bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.rates.At
	rates, jolts := e.pulse.observe(now, vitals, own)
	e.vitals = vitals
	for _, j := range jolts {
		if text := j.text(); text != "" {
			events = append(events, Event{At: now, Stage: Notice, Severity: rule.Note, Subject: j.server, Text: text})
		}
		deadlines := e.fallen.between(e.look, before, now)
		if ev, ok := e.cold.strike(now, j, deadlines, &e.history, e.opts.Budget); ok {
			events = append(append(events, ev), e.schedule.void(now)...)
			e.fallen.settle(e.look, now)
			e.look.Analysis = nil // of keys that are not there any more
			emptied = true
		}
	}
	e.history.add(rates)
	e.rates = rates
	e.totals.add(rates, own)
	return e.record(events), emptied
}

// ObserveLook takes what a reading of the keyspace found.
func (e *Engine) ObserveLook(now time.Time, l Look) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fallen.settle(e.look, now)
	e.look, e.analysis = l, l.Analysis
	return e.record(e.schedule.read(now, l))
}

// ObserveMiss takes a keymiss event.
func (e *Engine) ObserveMiss(now time.Time, m scan.KeyMiss) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stampedes.miss(now, m)
}

// ObserveRebuilds takes what MONITOR shows, as often as it changes.
func (e *Engine) ObserveRebuilds(now time.Time, list []Rebuild) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.record(e.stampedes.rebuilds(now, list))
}

// ObserveHot takes the deadlines of keys that had a stampede (zero: the key
// is not there), as Unix ms by the server's clock.
func (e *Engine) ObserveHot(keys []scan.KeyRef, expires []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, k := range keys {
		hot := e.stampedes.hot[keyID{k.DB, string(k.Name)}]
		if hot == nil {
			continue
		}
		hot.Expire = time.Time{}
		if expires[i] > 0 {
			hot.Expire = time.UnixMilli(expires[i]).Add(-e.schedule.offset)
		}
	}
}

// HotKeys are the keys that had a stampede.
func (e *Engine) HotKeys() []scan.KeyRef {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []scan.KeyRef
	for id := range e.stampedes.hot {
		out = append(out, scan.KeyRef{Name: []byte(id.key), DB: id.db})
	}
	return out
}

// ObserveFrequencies takes the access counters of sampled keys (LFU only).
func (e *Engine) ObserveFrequencies(details []scan.Detail) {
	const most = 10
	hot := slices.DeleteFunc(slices.Clone(details), func(d scan.Detail) bool { return !d.HasFreq })
	slices.SortFunc(hot, func(a, b scan.Detail) int {
		return cmp.Or(cmp.Compare(b.Freq, a.Freq), strings.Compare(string(a.Name), string(b.Name)))
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hottest = hot[:min(len(hot), most)]
}

// ObserveQueries takes the analysis of the last minutes of a database.
func (e *Engine) ObserveQueries(now time.Time, a *querylog.Analysis) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queried = a
	return e.record(e.queries.observe(now, a))
}

// ObserveRunning takes the statements of which several copies run now.
func (e *Engine) ObserveRunning(now time.Time, running []live.Running) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = slices.Clone(running)
	return e.record(e.queries.runningAtOnce(now, running))
}

// Limit notes what can't be seen, and why; an empty reason takes it back. It
// returns a Notice when that is new.
func (e *Engine) Limit(now time.Time, what, why string) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.limits[what] == why {
		return nil
	}
	text := why
	if why == "" {
		delete(e.limits, what)
		text = "is seen again"
	} else {
		e.limits[what] = why
	}
	return e.record([]Event{{At: now, Stage: Notice, Severity: rule.Note, Subject: what, Text: text}})
}

// Note records a Notice.
func (e *Engine) Note(now time.Time, subject, text string) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.record([]Event{{At: now, Stage: Notice, Severity: rule.Note, Subject: subject, Text: text}})
}

// Tick tells what time alone has brought.
func (e *Engine) Tick(now time.Time) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	events := append(e.schedule.tick(now, &e.history), e.stampedes.tick(now, &e.history)...)
	if ev, ok := e.cold.tick(now, &e.history); ok {
		events = append(events, ev)
	}
	return e.record(append(events, e.queries.end(now)...))
}

// Check returns keys of a tooth that is near, to be asked for their deadlines
// again; Answer takes these.
func (e *Engine) Check(now time.Time) (Check, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.schedule.check(now)
}

// Answer takes the deadlines of the keys of a Check: Unix ms, or scan.Gone.
func (e *Engine) Answer(c Check, expires []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.answer(expires)
}

// Suspect tells whether something goes on that a sample of MONITOR would
// explain: many misses of one key, or many more misses than usual.
func (e *Engine) Suspect(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.stampedes.runs {
		if r.n >= herdCopies/2 && now.Sub(r.last) < missGap {
			return true
		}
	}
	usual, known := e.history.usual(now.Add(-time.Minute), now.Add(-2*time.Second), missesOf)
	return known && e.rates.Known && e.rates.Misses > 3*usual+herdCopies
}

// NextHot is the next deadline of a key that had a stampede before.
func (e *Engine) NextHot(now time.Time) (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var next time.Time
	for _, k := range e.stampedes.hot {
		if k.Expire.After(now) && (next.IsZero() || k.Expire.Before(next)) {
			next = k.Expire
		}
	}
	return next, !next.IsZero()
}

// record keeps what events add up to.
func (e *Engine) record(events []Event) []Event {
	for _, ev := range events {
		if len(e.told) == maxTold {
			copy(e.told, e.told[1:])
			e.told = e.told[:maxTold-1]
		}
		e.told = append(e.told, ev)
		if ev.Rule != "" {
			e.totals.event(ev)
			e.recordHerd(ev)
		}
	}
	return events
}

func (e *Engine) recordHerd(ev Event) {
	id := ev.Rule + "\x00" + ev.Subject
	h := e.herds[id]
	if h == nil {
		if len(e.herds) >= maxHerds {
			return
		}
		h = &Herd{Rule: ev.Rule, Severity: ev.Severity, Subject: ev.Subject, First: ev.At, Unit: ev.Unit}
		e.herds[id] = h
	}
	h.Severity, h.Stage, h.Last = max(h.Severity, ev.Severity), ev.Stage, ev.At
	if ev.Stage == Ended && h.Text != "" && h.Fell == 0 {
		return // it never came: what was said of it before says more
	}
	if ev.Stage == Begins {
		h.Fell++
		if len(h.Teeth) == maxTeeth {
			h.Teeth = h.Teeth[:copy(h.Teeth, h.Teeth[1:])]
		}
		h.Teeth = append(h.Teeth, Fallen{At: ev.Tooth, Width: ev.Width, Count: ev.Count})
	}
	if ev.Stage == Ended && len(h.Teeth) > 0 {
		last := &h.Teeth[len(h.Teeth)-1]
		last.Count, last.Width = max(last.Count, ev.Count), ev.Width
	}
	if ev.Stage != Ended || h.Text == "" {
		h.Text = ev.Text
	}
}

// A State is a copy of all that an Engine knows, for a screen, for metrics
// and for the report at the end.
type State struct {
	Rates    Rates
	Totals   Totals
	History  []Rates // oldest first
	Vitals   []scan.Vitals
	Forecast []Tooth // in order of time
	Expired  uint64  // keys whose deadline has passed while they were watched
	Analysis *ttlhist.Analysis
	ReadAt   time.Time
	Hot      []HotKey // had a stampede
	Hottest  []scan.Detail
	InFlight int // rebuilds under way, as far as is seen
	Missed   uint64
	Lost     uint64 // misses of keys beyond those followed
	Queries  *querylog.Analysis
	Running  []live.Running
	Limits   []string // what can't be seen, "subject: why"
	Herds    []Herd
	Told     []Event // the last ones, oldest first
}

// State returns what is known.
func (e *Engine) State(now time.Time) State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{
		Rates: e.rates, Totals: e.totals, History: slices.Clone(e.history.rates), Vitals: slices.Clone(e.vitals),
		Expired: e.fallen.until(e.look, now), Analysis: e.analysis, ReadAt: e.look.At, Hottest: slices.Clone(e.hottest),
		InFlight: e.stampedes.inFlight(), Missed: e.stampedes.total, Lost: e.stampedes.lost,
		Queries: e.queried, Running: slices.Clone(e.running), Told: slices.Clone(e.told),
	}
	for _, p := range e.schedule.plans {
		if !p.declined && p.To.After(now) {
			s.Forecast = append(s.Forecast, p.Tooth)
		}
	}
	for _, k := range e.stampedes.hot {
		s.Hot = append(s.Hot, *k)
	}
	slices.SortFunc(s.Hot, func(a, b HotKey) int {
		return cmp.Or(cmp.Compare(b.Teeth, a.Teeth), cmp.Compare(b.Misses, a.Misses), strings.Compare(a.Key, b.Key))
	})
	for _, what := range slices.Sorted(maps.Keys(e.limits)) {
		s.Limits = append(s.Limits, what+": "+e.limits[what])
	}
	for _, h := range e.herds {
		c := *h
		c.Teeth = slices.Clone(h.Teeth)
		s.Herds = append(s.Herds, c)
	}
	slices.SortFunc(s.Herds, func(a, b Herd) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Rule, b.Rule), strings.Compare(a.Subject, b.Subject))
	})
	return s
}
