package querylog

import (
	"fmt"
	"math"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// jitter is the random part of a TTL that is proposed.
const jitter = 0.15

// fixComb proposes a remedy for the best cause of a comb.
func (a *analyser) fixComb(h *herd) Fix {
	f := &h.f
	if f.Artefact {
		return Fix{Text: "nothing to do: this is not the application"}
	}
	switch f.Causes[0].Kind {
	case CauseTTL:
		return a.fixTTL(h)
	case CauseHotKey:
		return fixStampede(f)
	case CauseReplicaJob:
		return fixReplica(f)
	case CauseCron:
		return a.fixCron(h)
	case CauseRetry:
		return fixRetry(f)
	}
	return Fix{Text: "find what starts these statements every " + round(h.comb.Period) + ": give herdscan report the crontabs, the cache and the configuration too"}
}

// fixTTL proposes jitter. Copies of one key stay together, so the number of
// keys is what jitter spreads.
func (a *analyser) fixTTL(h *herd) Fix {
	ttl, ok := a.ttlOf(h)
	if !ok {
		ttl = h.comb.Period
	}
	w := comb.Wave{Keys: h.comb.Height, Width: h.comb.Width, TTL: ttl}
	j := comb.Jitter{Fraction: jitter}
	e := comb.Predict(w, j, 1)
	e.PeakBefore, e.Unit = float64(h.comb.Peak), "queries/s"
	e.PeakAfter = math.Min(math.Max(e.PeakAfter, h.f.Identical*float64(h.comb.Peak)), e.PeakBefore)
	lo, hi := j.Range(ttl)
	return Fix{
		Text:   fmt.Sprintf("write these keys with a random TTL of %v to %v instead of %v", round(lo), round(hi), round(ttl)),
		Effect: &e,
	}
}

// fixCron proposes to spread the jobs; the largest one stays.
func (a *analyser) fixCron(h *herd) Fix {
	var largest uint64
	for _, c := range h.classes {
		for _, t := range h.comb.Teeth {
			_, n := a.peakIn([]*class{c}, a.windowOf(t))
			largest = max(largest, a.times(n, c, t.At))
		}
	}
	e := comb.Effect{PeakBefore: float64(h.comb.Peak), PeakAfter: math.Min(float64(largest), float64(h.comb.Peak)), Unit: "queries/s"}
	if a.ownBatch(h) {
		return Fix{Text: "nothing to do while it keeps this time to itself"}
	}
	if h.hot() && h.f.HostsATooth > 1 {
		return fixStampede(&h.f)
	}
	if len(h.classes) < 2 {
		return Fix{Text: "one job: let its workers start spread over a part of the period", Effect: nil}
	}
	return Fix{Text: fmt.Sprintf("spread the jobs that start %s over the %v between two starts", afterMinute(pastMinute(h.comb.Teeth)), round(h.comb.Period)), Effect: &e}
}

// fixStampede proposes that one caller refills.
func fixStampede(f *Finding) Fix {
	after := float64(max(f.HostsATooth, 1))
	before := float64(f.Second)
	if len(f.Members) > 0 && !isRead(f.Members[0].Shape) {
		e := comb.Effect{PeakBefore: before, PeakAfter: 1, Unit: "queries/s"}
		return Fix{Text: "if the copies repeat one change, send it once (a claim: SET name client NX EX 60); if each is a change of its own, queue them and write them in batches", Effect: &e}
	}
	e := comb.Effect{PeakBefore: before, PeakAfter: math.Min(after, before), Unit: "queries/s"}
	orLock := ""
	if e.PeakAfter > 1 {
		orLock = ", or 1 with a lock across processes"
	}
	return Fix{
		Text:   fmt.Sprintf("let one caller refill (single-flight in each process, or a lock): %d → %.0f at once%s; jitter alone does not help one hot key", f.Second, e.PeakAfter, orLock),
		Effect: &e,
	}
}

// fixReplica proposes to run a job once.
func fixReplica(f *Finding) Fix {
	hosts := float64(max(f.HostsATooth, 1))
	e := comb.Effect{PeakBefore: float64(f.Second), PeakAfter: math.Ceil(float64(f.Second) / hosts), Unit: "queries/s"}
	return Fix{Text: fmt.Sprintf("run the job once, not on %d replicas: a claim with a TTL (SET job:name replica NX EX 60), a leader, or the scheduler of the platform", f.HostsATooth), Effect: &e}
}

// The bounds of the pauses that are proposed between attempts.
const (
	firstBound   = time.Second
	longestBound = 5 * time.Minute
)

// fixRetry proposes full jitter with a cap at which the busiest second is a
// tenth of what it was.
func fixRetry(f *Finding) Fix {
	var first uint64
	for _, t := range f.Teeth {
		first = max(first, t.Count)
	}
	w := comb.RetryWave{Clients: float64(first), Pause: firstBound}
	w.Cap = longestBound
	if d := comb.NextHuman(max(w.SmallestCap(float64(f.Second)/10), f.Spacing)); d > 0 {
		w.Cap = min(d, longestBound)
	}
	e := comb.Effect{PeakBefore: float64(f.Second), PeakAfter: math.Min(w.Settled(), float64(f.Second)), Unit: "queries/s"}
	return Fix{
		Text:   fmt.Sprintf("retry after random(0, min(%v, %v * 2^attempt)) (exponential backoff with full jitter), and give up after %d attempts", round(w.Cap), round(w.Pause), w.Attempts()+2),
		Effect: &e,
	}
}

func fixOneOff(f *Finding) Fix {
	after := float64(max(f.Texts, uint64(len(f.Members)), uint64(f.HostsATooth)))
	e := comb.Effect{PeakBefore: float64(f.Second), PeakAfter: math.Min(after, float64(f.Second)), Unit: "queries/s"}
	if f.Causes[0].Kind == CauseRetry {
		return fixCatchUp(f)
	}
	if len(f.Members) > 0 && !isRead(f.Members[0].Shape) {
		if f.Identical >= 0.5 {
			return fixStampede(f)
		}
		return Fix{Text: "find what sent these statements at " + f.Teeth[0].At.Format(time.RFC3339) + ": a deploy, a job run by hand, an import"}
	}
	if f.Identical < 0.5 {
		return Fix{Text: "warm the cache at a limited rate before it takes traffic, let one caller refill each key, and give the keys random TTLs so that this does not come again"}
	}
	return Fix{Text: "let one caller refill (single-flight or a lock), and warm the cache before it takes traffic", Effect: &e}
}

// fixCatchUp is for what comes once when an outage ends.
func fixCatchUp(f *Finding) Fix {
	if f.Teeth[0].Width >= longCatchUp {
		return Fix{Text: "nothing if the retries wait a random time already: this is demand that waited; bound how many statements run at once if it was too much"}
	}
	return Fix{Text: "retry after random(0, min(cap, base * 2^attempt)) (exponential backoff with full jitter), and bound how many statements run at once"}
}

func fixMissing(f *Finding) Fix {
	e := comb.Effect{PeakBefore: f.Rate, PeakAfter: math.Min(f.Rate, float64(f.Texts)/60), Unit: "queries/s"}
	return Fix{Text: "cache the absence too: store an empty value with a random TTL of about a minute", Effect: &e}
}
