package watch

import (
	"fmt"
	"math"
	"time"

	"github.com/herdscan/herdscan/scan"
)

// Rates are what a deployment did between two looks at its counters, per
// second, without what herdscan itself did.
type Rates struct {
	At       time.Time
	Over     time.Duration // between the looks
	Hits     float64
	Misses   float64
	Evicted  float64
	Commands float64
	Changes  float64 // writes that took effect
	CPU      float64 // share of one core
	Keys     uint64  // in all databases, expired ones that are not deleted yet included
	Known    bool    // false: no server told its counters
	busy     bool    // a key was being missed by many: not what is usual
}

// Own counts what herdscan itself added to the server's counters.
type Own struct{ Hits, Misses uint64 }

// pulse turns counters into rates.
type pulse struct {
	last map[string]scan.Vitals
	debt Own // own probes that no counter has shown yet
}

// A jolt is something that happened to a server between two looks.
type jolt struct {
	server     string
	restarted  bool
	role       string // the new one, if it changed
	flushes    uint64
	keysBefore uint64
	keysAfter  uint64
	misses     uint64
}

// observe compares counters with those of the look before. own is what
// herdscan added since then.
func (p *pulse) observe(now time.Time, vitals []scan.Vitals, own Own) (Rates, []jolt) {
	r := Rates{At: now}
	var jolts []jolt
	var hits, misses, evicted, commands, changes uint64
	var cpu time.Duration
	next := make(map[string]scan.Vitals, len(vitals))
	for _, v := range vitals {
		if len(v.Missing) > 0 && v.RunID == "" {
			continue // it told nothing
		}
		next[v.Server] = v
		r.Keys += v.Keys()
		before, known := p.last[v.Server]
		if !known {
			continue
		}
		j := jolt{server: v.Server, restarted: v.RunID != before.RunID, keysBefore: before.Keys(), keysAfter: v.Keys(), misses: grown(before.Misses, v.Misses)}
		if before.Role != v.Role {
			j.role = v.Role
		}
		j.flushes = grown(before.Flushes, v.Flushes)
		if j.restarted || j.role != "" || j.flushes > 0 || j.keysAfter < j.keysBefore {
			jolts = append(jolts, j)
		}
		if j.restarted {
			continue
		}
		r.Known = true
		r.Over = max(r.Over, v.At.Sub(before.At))
		hits += grown(before.Hits, v.Hits)
		misses += grown(before.Misses, v.Misses)
		evicted += grown(before.Evicted, v.Evicted)
		commands += grown(before.Commands, v.Commands)
		changes += grown(before.Changes, v.Changes)
		cpu += max(0, v.CPU-before.CPU)
	}
	p.last = next
	if r.Over <= 0 {
		r.Known = false
		return r, jolts
	}
	p.debt.Hits, hits = pay(p.debt.Hits+own.Hits, hits)
	p.debt.Misses, misses = pay(p.debt.Misses+own.Misses, misses)
	s := r.Over.Seconds()
	r.Hits, r.Misses, r.Evicted = float64(hits)/s, float64(misses)/s, float64(evicted)/s
	r.Commands, r.Changes, r.CPU = float64(commands)/s, float64(changes)/s, cpu.Seconds()/s
	return r, jolts
}

// grown is the growth of a counter; one that fell was reset.
func grown(before, after uint64) uint64 {
	if after < before {
		return 0
	}
	return after - before
}

// pay takes own from counted; what is more than was counted stays owed for
// the next look: a page may have been read but not counted yet.
func pay(own, counted uint64) (owed, rest uint64) {
	if own > counted {
		return own - counted, 0
	}
	return 0, counted - own
}

// history keeps the rates of the last minutes, oldest first.
type history struct {
	rates []Rates
}

// keepRates is how many looks are kept: ten minutes of one a second.
const keepRates = 600

func (h *history) add(r Rates) {
	if len(h.rates) == keepRates {
		copy(h.rates, h.rates[1:])
		h.rates = h.rates[:keepRates-1]
	}
	h.rates = append(h.rates, r)
}

// usual is the median of a rate in the time from to to, and whether there
// were enough looks to tell.
func (h *history) usual(from, to time.Time, of func(Rates) float64) (float64, bool) {
	var xs []float64
	for _, r := range h.rates {
		if r.Known && !r.At.Before(from) && r.At.Before(to) {
			xs = append(xs, of(r))
		}
	}
	const enough = 3
	if len(xs) < enough {
		return 0, false
	}
	return median(xs), true
}

// mark says that from from to to, and a look longer, a key was being missed by
// many: what was written then is not what is usually written.
func (h *history) mark(from, to time.Time) {
	for i := range h.rates {
		if r := &h.rates[i]; r.At.After(from) && !r.At.After(to.Add(r.Over)) {
			r.busy = true
		}
	}
}

// spread is the median of a rate in the time from to to, and how far the sum
// over one second scatters above it (a standard deviation, from the upper
// tenth), both without the times that mark has named. known is false where
// there were too few looks to tell.
func (h *history) spread(from, to time.Time, of func(Rates) float64) (usual, scatter float64, known bool) {
	var xs []float64
	var over time.Duration
	for _, r := range h.rates {
		if r.Known && !r.busy && !r.At.Before(from) && r.At.Before(to) {
			xs = append(xs, of(r))
			over = max(over, r.Over)
		}
	}
	const enough = 5
	if len(xs) < enough {
		return 0, 0, false
	}
	usual = median(xs) // sorts them
	const tenth = 1.28 // standard deviations above the median
	return usual, (xs[len(xs)*9/10] - usual) / tenth * math.Sqrt(over.Seconds()), true
}

// most is the largest rate from from to to.
func (h *history) most(from, to time.Time, of func(Rates) float64) (most float64) {
	for _, r := range h.rates {
		if r.Known && !r.At.Before(from) && !r.At.After(to) {
			most = max(most, of(r))
		}
	}
	return most
}

// sees tells whether any look after a time has told its counters.
func (h *history) sees(after time.Time) bool {
	n := len(h.rates)
	return n > 0 && h.rates[n-1].Known && h.rates[n-1].At.After(after)
}

// excess is how many more than usual there were from from to to, in whole
// looks, and how long these took together.
func (h *history) excess(from, to time.Time, usual float64, of func(Rates) float64) (sum float64, over time.Duration) {
	for _, r := range h.rates {
		if r.Known && r.At.After(from) && !r.At.After(to) {
			sum += (of(r) - usual) * r.Over.Seconds()
			over += r.Over
		}
	}
	return sum, over
}

func missesOf(r Rates) float64  { return r.Misses }
func changesOf(r Rates) float64 { return r.Changes }

// joltText says in one sentence what happened to a server.
func (j jolt) text() string {
	switch {
	case j.restarted:
		return fmt.Sprintf("the server was started anew: %s before, %s now", count(j.keysBefore, "keys", false), count(j.keysAfter, "keys", false))
	case j.role != "":
		return fmt.Sprintf("the server's role is %s now", j.role)
	default:
		return ""
	}
}
