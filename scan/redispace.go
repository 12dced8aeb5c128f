package scan

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	startPageKeys = 100
	minPageKeys   = 10
	// maxService is the time that one page may keep the server from answering others.
	maxService = 300 * time.Microsecond
	// goodService is what pages are fitted to: safely below maxService.
	goodService = 250 * time.Microsecond
	// pagesPerFit is the number of pages whose median decides on the size of the next ones.
	pagesPerFit = 16

	// workBeforeRest is how much of the server's time is used before a rest: a sleep after each page would be cut
	// into timer ticks and cost more than it saves.
	workBeforeRest = 100 * time.Millisecond
	maxBatch       = time.Second
	minDuty        = 1.0 / 16
)

// A pacer decides how many keys the next page asks one server for, and when the scan has to rest. All chains of a
// server share one.
type pacer struct {
	now func() time.Time

	mu       sync.Mutex
	pageKeys int
	fixed    bool // pageKeys never changes
	duty     float64
	maxDuty  float64
	rate     float64 // keys per second, 0 for no limit
	rtt      time.Duration
	recent   []time.Duration
	perKey   time.Duration // the server's own account of its time for one key, 0 if it does not tell

	batchStart time.Time
	busy       time.Duration // of the batch
	batchKeys  int
	restUntil  time.Time

	rested   time.Duration
	total    time.Duration // service of all pages
	pages    uint64
	keys     uint64
	backoffs int
}

func newPacer(o *Options, rtt time.Duration, now func() time.Time) *pacer {
	p := &pacer{
		now: now, pageKeys: startPageKeys, duty: o.Duty, maxDuty: o.Duty, rate: float64(o.Rate), rtt: rtt,
		recent: make([]time.Duration, 0, pagesPerFit),
	}
	if o.Fast {
		p.pageKeys, p.fixed, p.duty, p.maxDuty = fastPageKeys, true, 1, 1
	}
	if o.PageKeys > 0 {
		p.pageKeys, p.fixed = o.PageKeys, true
	}
	if o.Rate > 0 {
		// A tenth of a second's worth of keys at most, so that the rate is met in small steps.
		p.pageKeys = max(1, min(p.pageKeys, o.Rate/10))
	}
	p.batchStart = now()
	return p
}

// size is the number of keys to ask for with the next page.
func (p *pacer) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pageKeys
}

// done records a page of n keys whose answer was waited for, and plans a rest when one is due. The server's time is
// the wait less a round trip.
func (p *pacer) done(wait time.Duration, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	service := max(wait-p.rtt, 0)
	if p.perKey > 0 && n > 0 {
		// On a busy client the wait is longer than the work.
		service = min(service, time.Duration(n)*p.perKey)
	}
	p.keys += uint64(n)
	p.pages++
	p.total += service
	p.busy += service
	p.batchKeys += n
	p.fit(service)
	p.plan()
}

// also records work of the server besides pages.
func (p *pacer) also(wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy += max(wait-p.rtt, 0)
	p.plan()
}

// fit adapts the page size to the median of the last pages.
func (p *pacer) fit(service time.Duration) {
	if p.fixed {
		return
	}
	p.recent = append(p.recent, service)
	if len(p.recent) < pagesPerFit {
		return
	}
	m := max(median(p.recent), time.Microsecond)
	p.recent = p.recent[:0]
	factor := min(max(float64(goodService)/float64(m), 0.5), 1.25)
	if m <= maxService && factor < 1 {
		return
	}
	limit := fastPageKeys
	if p.rate > 0 {
		limit = max(1, min(limit, int(p.rate/10)))
	}
	p.pageKeys = min(max(int(float64(p.pageKeys)*factor), minPageKeys), limit)
}

// plan sets restUntil when the batch has used its share.
func (p *pacer) plan() {
	now := p.now()
	elapsed := now.Sub(p.batchStart)
	// Chains that wait for each other count the same time twice.
	busy := min(p.busy, elapsed)
	need := time.Duration(float64(busy) / p.duty)
	if p.rate > 0 {
		need = max(need, time.Duration(float64(p.batchKeys)/p.rate*float64(time.Second)))
	}
	if busy < workBeforeRest && need-elapsed < workBeforeRest && elapsed < maxBatch {
		return
	}
	p.batchStart, p.busy, p.batchKeys = now, 0, 0
	if rest := need - elapsed; rest > 0 && !(p.duty >= 1 && p.rate == 0) {
		p.rested += rest
		p.restUntil = now.Add(rest)
		p.batchStart = p.restUntil
	}
}

// protocolShare is the server's whole time for a command relative to that of its execution, which is all that
// commandstats count: measured 1.3 to 1.5 for short names.
const protocolShare = 1.6

// calibrate takes over the server's own account of the scan so far.
func (p *pacer) calibrate(usec uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if usec > 0 && p.keys > 0 {
		p.perKey = time.Duration(protocolShare * float64(usec) / float64(p.keys) * float64(time.Microsecond))
	}
}

// wait sleeps while a rest is due.
func (p *pacer) wait(ctx context.Context) error {
	p.mu.Lock()
	rest := p.restUntil.Sub(p.now())
	p.mu.Unlock()
	if rest <= 0 {
		return ctx.Err()
	}
	return sleep(ctx, rest)
}

// slower halves the duty; faster gives some of it back. They are the ends of the latency guard.
func (p *pacer) slower() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backoffs++
	p.duty = max(p.duty/2, minDuty)
}

func (p *pacer) faster() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.duty = min(p.duty*1.5, p.maxDuty)
}

// chains is how many cursors may walk at once so that together they use the duty: one where the server is near, more
// where the round trip is most of a page's time.
func (p *pacer) chains() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	service := time.Duration(p.pageKeys) * typicalService
	wanted := p.maxDuty * float64(p.rtt+service) / float64(service)
	k := 1
	if p.maxDuty == 1 {
		k = 2 // one works for us while we work on the answer of the other
	}
	for k*2 <= maxChains && float64(k*2) <= wanted {
		k *= 2
	}
	return k
}

// typicalService is the server's time for one key: SCAN, expiry and the protocol of both.
const typicalService = 2 * time.Microsecond

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func median(times []time.Duration) time.Duration { return quantile(times, 0.5) }

// quantile returns the time below which the share q of all lies, 0 for none.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[int(q*float64(len(sorted)-1))]
}
