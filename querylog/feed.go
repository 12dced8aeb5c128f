package querylog

import (
	"math/bits"
	"time"
)

// Observe counts an event that did not come from a file, and notes it in its coverage.
func (s *Summary) Observe(e *Event, c *Coverage) {
	if rate := c.SampleRate; rate > 1 { // of a server, which writes no rate into its tables
		c.sampled(e, rate, "")
	}
	c.observe(e)
	c.Counted++
	s.fine = s.fine || c.Fine
	s.coarse = s.coarse || !c.Fine
	s.Add(e)
}

// ObserveMany counts n runs of one statement that started at about the same
// time, as counters of a server tell. Their texts are unknown where e.Text is
// 0; identical ones are told by Sight. Their duration is that of e on average.
func (s *Summary) ObserveMany(e *Event, n uint64, c *Coverage) {
	if n == 0 {
		return
	}
	seen := *e
	seen.Has &^= HasDuration // a mean is no threshold of what was counted
	c.observe(&seen)
	c.Read += n - 1
	c.Counted += n
	s.fine = s.fine || c.Fine
	s.coarse = s.coarse || !c.Fine
	s.kinds[e.Kind] += n
	s.cover(e.Time.UnixNano())
	s.timed += n - 1
	h := s.host(e)
	if h != noHost {
		s.load[h].n += n - 1
	}
	s.class(e).observeMany(e, h, n)
	if s.added++; s.added&0xffff == 0 {
		s.bound()
	}
}

// observeMany counts n runs of a statement from one client.
func (c *class) observeMany(e *Event, h hostID, n uint64) {
	c.n += n
	conns := connSet(e.ThreadID, e.Has&HasThread != 0)
	for left := n; left > 0; left -= min(left, cellMaxN) {
		c.starts.list = append(c.starts.list, newCell(e.Time.UnixNano(), h, conns)-1+cell(min(left, cellMaxN)))
	}
	if len(c.starts.list) > 2*c.starts.sorted+4096 {
		c.starts.compact()
	}
	if e.Has&HasDuration != 0 {
		c.timed += n
		c.duration += time.Duration(n) * e.Duration
		c.longest = max(c.longest, e.Duration)
		c.buckets[bucketOf(e.Duration)] += n
	}
	if isSystemUser(e.User) {
		c.system += n
	}
	if e.DB != "" {
		c.database(e.DB, n)
	}
	if e.Text != 0 {
		c.texts.add(e.Text)
		c.keepSample(e)
	}
}

// keepSample keeps one text, always the same one of those seen.
func (c *class) keepSample(e *Event) {
	if c.sample == nil || e.Text < c.sampleText {
		c.sample = append(c.sample[:0], e.Query[:min(len(e.Query), maxSample)]...)
		c.sampleText = e.Text
	}
}

// Sight notes a burst of one statement of which not every copy was observed by
// itself: b has all of it but the clients and connections. It does not count as runs.
func (s *Summary) Sight(e *Event, b Burst, hosts []string, conns []uint64) {
	c := s.class(e)
	for _, h := range hosts {
		b.hosts.add(s.hostNumber(h))
	}
	for _, id := range conns {
		b.conns |= 1 << (id * 0x9E3779B97F4A7C15 >> 58)
	}
	b.Text, b.Hosts, b.Conns = e.Text, b.hosts.len(), bits.OnesCount64(b.conns)
	s.keepBurst(c, b)
	c.keepSample(e)
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
