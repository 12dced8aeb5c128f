package comb

import (
	"math"
	"time"
)

// A HotKey is one key that many readers ask for.
type HotKey struct {
	Reads     float64       // per second, over all processes
	Rebuild   time.Duration // time to compute the value
	TTL       time.Duration
	Processes int // that read it; 0: unknown
}

// Copies returns the expected number of callers that compute the value at one
// death of the key if nothing holds them back: the one that misses first and
// all that come until it has finished.
func (h HotKey) Copies() float64 { return 1 + h.Reads*h.Rebuild.Seconds() }

// Period returns the time from one death to the next. Without a lock the last
// of the callers to finish, who began just before the first one wrote, writes
// the key again, and its TTL counts: TTL + 2 rebuilds. With a lock or single
// flight it is TTL + 1 rebuild, and the wait for the next reader.
func (h HotKey) Period(locked bool) time.Duration {
	if !locked {
		return h.TTL + 2*h.Rebuild
	}
	wait := time.Duration(0)
	if h.Reads > 0 {
		wait = time.Duration(float64(time.Second) / h.Reads)
	}
	return h.TTL + h.Rebuild + wait
}

// busiest returns the queries of one death that begin within one second.
func (h HotKey) busiest() float64 {
	return 1 + h.Reads*min(1, h.Rebuild.Seconds())
}

// Coalesce returns what single flight within each process does: one query a
// process.
func (h HotKey) Coalesce() Effect {
	after := h.busiest()
	if h.Processes > 0 {
		after = min(after, h.coalesced())
	}
	return h.effect(after)
}

// coalesced is the expected number of processes of which at least one reader
// comes while the value is computed.
func (h HotKey) coalesced() float64 {
	p := float64(h.Processes)
	return 1 + (p-1)*(1-math.Exp(-h.Reads*min(1, h.Rebuild.Seconds())/p))
}

// Lock returns what a lock shared by all processes does: one query.
func (h HotKey) Lock() Effect { return h.effect(1) }

// ServeStale returns what serving the old value does while one caller
// refreshes: one query, and no reader waits.
func (h HotKey) ServeStale() Effect { return h.effect(1) }

// EarlyRefresh returns what probabilistic early refresh does (XFetch: Vattani,
// Chierichetti, Lowenstein 2015), in which each reader refreshes with the
// probability exp(-left / (beta x rebuild)). The readers that come while the
// first one computes add exp(1/beta) - 1 more on average, if reads are frequent.
// It does nothing for a cold start, when no value has an expiry yet.
func (h HotKey) EarlyRefresh(beta float64) Effect {
	if beta <= 0 {
		return h.effect(h.busiest())
	}
	return h.effect(min(h.busiest(), math.Exp(1/beta)))
}

func (h HotKey) effect(after float64) Effect {
	return Effect{PeakBefore: h.busiest(), PeakAfter: after, Unit: "queries/s"}
}
