package live

import (
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/querylog"
)

// herd is one text that was caught running in several copies near each other.
type herd struct {
	e           querylog.Event // one of them
	first, last time.Time      // starts
	seen, of    uint64         // copies caught running, and statements of their shape caught with them
	counted     uint64         // statements of their shape that the digests counted meanwhile
	alone       uint64         // copies caught in one account, where no digest counted
	peak        uint64         // most copies running at one look
	second      uint64         // most in one account, a second as a rule
	hosts       []string
	conns       []uint64
	touched     bool // in the present account
}

const (
	herdSpan   = 60 * time.Second // longer ones are steady traffic, and are cut
	herdNames  = 256              // clients and connections kept
	herdCopies = 3                // fewer are no herd
)

// join adds a copy.
func (h *herd) join(q *process) {
	h.seen++
	h.touched = true
	if q.start.Before(h.first) {
		h.first = q.start
	}
	if q.start.After(h.last) {
		h.last = q.start
	}
	if len(h.hosts) < herdNames && !slices.Contains(h.hosts, q.host) {
		h.hosts = append(h.hosts, q.host)
	}
	if len(h.conns) < herdNames && !slices.Contains(h.conns, q.conn) {
		h.conns = append(h.conns, q.conn)
	}
}

// atLeast is how many copies there were of n counted statements, of which so
// many were caught running, and seen of these had the text: not fewer than the
// lower bound of Hoeffding (1963) at 95 % for the share of the text, nor than
// were seen. Where nothing is counted, it is those that were seen.
func atLeast(n, seen, caught uint64) uint64 {
	if n == 0 || caught == 0 {
		return seen
	}
	share := float64(seen)/float64(caught) - math.Sqrt(math.Log(20)/2/float64(caught))
	return max(min(seen, n), uint64(math.Max(share, 0)*float64(n)))
}

// burst is what is known of the herd at its end.
func (h *herd) burst() (querylog.Burst, bool) {
	if h.seen < herdCopies {
		return querylog.Burst{}, false
	}
	n := max(h.seen, atLeast(h.counted, h.seen, h.of))
	return querylog.Burst{
		Start: h.first, Span: h.last.Sub(h.first), Count: n,
		Peak: min(max(h.peak, 1), n), Second: min(max(h.second, h.peak), n),
	}, true
}
