package remedy

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// Retries as proposed.
const (
	usualPause    = time.Second            // the first bound,
	shortestPause = 100 * time.Millisecond // or this, of clients that wait less by now
	shortestCap   = 10 * time.Second
	longestCap    = 5 * time.Minute
	moreAttempts  = 2 // once the cap is reached
)

// retries is the wave of clients with the bounds that it needs: a short first
// one, so that a single failure costs little, and a cap at which the busiest
// second is what the source can take, or a tenth of what it took.
func (c Case) retries() comb.RetryWave {
	w := comb.RetryWave{Clients: cmp.Or(c.Clients, c.before()), Pause: usualPause}
	if c.Spacing > 0 {
		w.Pause = min(max(c.Spacing, shortestPause), usualPause)
	}
	need := max(w.SmallestCap(cmp.Or(c.Budget, c.before()/10)), c.Spacing, shortestCap)
	if w.Cap = comb.NextHuman(need); w.Cap == 0 || w.Cap > longestCap {
		w.Cap = longestCap
	}
	return w
}

// attemptsOf is after how many attempts a client gives up.
func attemptsOf(w comb.RetryWave) int { return w.Attempts() + moreAttempts }

// backoff lets clients wait longer each time, and at random.
func backoff(c Case) Remedy {
	w := c.retries()
	r := Remedy{
		Name: Backoff, Helps: Yes,
		Text: fmt.Sprintf("retry after random(0, min(%s, %s * 2^attempt)) (exponential backoff with full jitter), and give up after %d attempts", secs(w.Cap), secs(w.Pause), attemptsOf(w)),
		Why:  "a constant or doubled pause keeps the clients in step; only a random one parts them",
	}
	if w.Clients <= 0 {
		return r
	}
	r.Effect = c.effect(w.Settled())
	if r.Effect == nil {
		return r
	}
	r.Helps = helps(*r.Effect)
	r.Curve = c.curve(c.stepped(), jittered(w), 0, 0)
	return r
}

// stepped is the load of clients that retry in step: a wave each pause.
func (c Case) stepped() []float64 {
	pause := int(math.Min(math.Max(c.Spacing.Seconds(), 1), 3600))
	out := make([]float64, 4*pause+1)
	for i := 0; i < len(out); i += pause {
		out[i] = c.before()
	}
	return out
}

// jittered is the expected number of attempts in each second of a cap.
func jittered(w comb.RetryWave) []float64 { return burst(0, 2*w.Clients, w.Cap) }

// retryBudget bounds what retries may add.
func retryBudget(c Case) Remedy {
	return Remedy{
		Name: RetryBudget, Helps: Partly, Text: "let retries be at most a tenth of a client's requests, and stop them while most attempts fail (a circuit breaker)",
		Why: "it bounds the load in an outage; it does not part the clients that wait for its end",
	}
}

// Absence is cached for about this long.
const (
	negativeLow  = 45 * time.Second
	negativeHigh = 75 * time.Second
)

// negative caches what does not exist.
func negative(c Case) Remedy {
	r := Remedy{
		Name: Negative, Helps: Yes, Text: fmt.Sprintf("cache the absence too: store an empty value with a random TTL of %s to %s", secs(negativeLow), secs(negativeHigh)),
		Why: "a miss that finds nothing leaves nothing behind, so the next reader asks again",
	}
	rate := cmp.Or(c.MissRate, c.Peak)
	if rate <= 0 || c.Missing <= 0 {
		return r
	}
	after := comb.Absence{IDs: c.Missing, Rate: rate}.Cached((negativeLow + negativeHigh) / 2)
	r.Effect = &comb.Effect{PeakBefore: rate, PeakAfter: math.Min(after, rate), Unit: c.unit()}
	r.Helps = helps(*r.Effect)
	if r.Helps == No {
		r.Why = fmt.Sprintf("%s are asked for, each too rarely for its absence to be cached: refuse ids that can't exist before the cache is asked (their form, or a Bloom filter)", count(c.Missing, "different ids"))
	}
	return r
}
