package querylog

import (
	"slices"
	"time"
)

// Observe counts an event that did not come from a file, and notes it in its coverage.
func (s *Summary) Observe(e *Event, c *Coverage) { s.ObserveMany(e, 1, c) }

// ObserveMany counts n runs of one statement that started at about the same
// time, as counters of a server tell: their texts and clients are unknown.
func (s *Summary) ObserveMany(e *Event, n uint64, c *Coverage) {
	if n == 0 {
		return
	}
	c.observe(e)
	c.Counted++
	s.fine = s.fine || c.Fine
	s.coarse = s.coarse || !c.Fine
	s.Add(e)
	if n == 1 {
		return
	}
	c.Read += n - 1
	c.Counted += n - 1
	more := n - 1
	s.kinds[e.Kind] += more
	if cl := s.classes[e.Shape]; cl != nil {
		cl.addMany(e, more)
		s.timed += more
	}
}

// addMany counts further runs of an event already observed.
func (c *class) addMany(e *Event, n uint64) {
	c.n += n
	for left := n; left > 0; {
		k := min(left, cellMaxN)
		c.starts.list = append(c.starts.list, newCell(e.Time.UnixNano(), noHost, 0)-1+cell(k))
		left -= k
	}
	c.starts.sorted = 0
	if e.Has&HasDuration != 0 {
		c.timed += n
		c.duration += time.Duration(n) * e.Duration
		c.buckets[bucketOf(e.Duration)] += n
	}
}

// Sight notes copies of one statement that were seen running at the same
// moment, by client. They do not count as runs.
func (s *Summary) Sight(e *Event, hosts map[string]uint64) {
	var n uint64
	var set hostSet
	for h, k := range hosts {
		n += k
		set.add(s.hostNumber(h))
	}
	c := s.classes[e.Shape]
	if c == nil || n < 3 {
		return
	}
	c.bursts = append(c.bursts, Burst{Text: e.Text, Start: e.Time, Count: n, Peak: n, Second: n, Hosts: set.len(), hosts: set})
	if e.Text < c.sampleText || c.sample == nil {
		c.sample, c.sampleText = slices.Clone(e.Query[:min(len(e.Query), maxSample)]), e.Text
	}
}

// Cover adds what is known about a source whose events were given to Observe.
func (s *Summary) Cover(c Coverage) { s.coverage = append(s.coverage, c) }

// ParseClient reads who sent a statement from the spelling of the log tables: user[user] @ host [address].
func ParseClient(who []byte) (user, host string) {
	c := parseClient(who)
	return c.user, c.host
}

// ParseClock reads a duration as the slow log table writes it: HH:MM:SS.ffffff.
func ParseClock(b []byte) (time.Duration, bool) {
	ns, ok := parseClock(b)
	return time.Duration(ns), ok
}

// CommandKind returns the kind of a command of the general log: Query, Execute, Connect ...
func CommandKind(name []byte) Kind {
	var h generalHead
	if h.command(name) == 0 {
		return KindAdmin
	}
	return h.kind
}
