package watch

import (
	"maps"
	"math"
)

// Totals are sums since the beginning.
type Totals struct {
	Hits, Misses, Evicted uint64 // of the servers, without herdscan's own
	Own                   uint64 // keys that herdscan itself asked for
	Events                map[Told]uint64
}

// Told is a kind of event.
type Told struct {
	Rule  string
	Stage Stage
}

func (t *Totals) add(r Rates, own Own) {
	t.Own += own.Hits + own.Misses
	if !r.Known {
		return
	}
	s := r.Over.Seconds()
	t.Hits += uint64(math.Round(r.Hits * s))
	t.Misses += uint64(math.Round(r.Misses * s))
	t.Evicted += uint64(math.Round(r.Evicted * s))
}

func (t *Totals) event(e Event) {
	// The map is replaced, not changed: a State may hold it.
	next := maps.Clone(t.Events)
	if next == nil {
		next = make(map[Told]uint64)
	}
	next[Told{e.Rule, e.Stage}]++
	t.Events = next
}
