package querylog

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// hostSet is a set of clients by number; those beyond 255 share one place.
type hostSet [4]uint64

func (s *hostSet) add(h hostID) {
	if h == noHost {
		return
	}
	i := min(h, 255)
	s[i>>6] |= 1 << (i & 63)
}

func (s hostSet) len() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

func (s *hostSet) union(o hostSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// translate renumbers the clients.
func (s hostSet) translate(ids []hostID) (t hostSet) {
	for i := range 256 {
		if s[i>>6]&(1<<(i&63)) == 0 {
			continue
		}
		h := hostID(i)
		if i < len(ids) {
			h = ids[i]
		}
		t.add(h)
	}
	return t
}

// Burst is many copies of one identical statement in flight or started together.
type Burst struct {
	Text   uint64        // hash of the statement
	Start  time.Time     // of the first copy, UTC
	Span   time.Duration // from the first start to the last start
	Count  uint64        // copies
	Peak   uint64        // most of them in flight at once, by start and duration; equal starts count as at once
	Second uint64        // most starts within one second
	Hosts  int           // clients, at most 256 are told apart
	Conns  int           // connections, about, at most 64; 0 if the log names none
	hosts  hostSet
	conns  uint64 // set of connections by hash
}

// run is a burst in the making.
type run struct {
	text   uint64
	class  *class
	first  int64
	last   int64 // last start
	end    int64 // last end
	n      uint64
	hosts  hostSet
	conns  uint64
	starts []interval // of all copies, once there are two
}

// interval is one copy: its start and end in Unix nanoseconds.
type interval struct{ from, to int64 }

const (
	runSlots   = 1 << 14
	runProbes  = 4
	maxRunSpan = int64(60 * time.Second) // a longer one is steady traffic and is cut
	maxRunKeep = 1 << 15                 // copies whose times are kept
	edgeSpan   = int64(10 * time.Second) // how near the ends of the data a run may go on elsewhere
	maxEdges   = 1 << 13
	maxBursts  = 1024 // kept for a class
)

// runs follows the identical statements that are near each other in time.
type runs struct {
	slots   []run
	edges   []run // near the ends of the data: they may go on in another summary
	evicted uint64
}

// add counts one copy. gap is how far apart two copies may be.
func (rs *runs) add(s *Summary, c *class, e *Event, h hostID) {
	if rs.slots == nil {
		rs.slots = make([]run, runSlots)
	}
	t := e.Time.UnixNano()
	end := t + int64(e.Duration)
	r := rs.find(s, e.Text, t)
	if r.n > 0 && r.text == e.Text {
		if r.near(t, end, s.gap()) {
			r.join(t, end)
			r.from(e, h)
			return
		}
		rs.close(s, r)
	}
	*r = run{text: e.Text, class: c, first: t, last: t, end: end, n: 1, starts: r.starts[:0]}
	r.from(e, h)
}

// from notes who sent a copy.
func (r *run) from(e *Event, h hostID) {
	r.hosts.add(h)
	if e.Has&HasThread != 0 {
		r.conns |= 1 << (e.ThreadID * 0x9E3779B97F4A7C15 >> 58)
	}
}

// find returns the slot of a text: its own, a free one, or the least of those in its way.
func (rs *runs) find(s *Summary, text uint64, t int64) *run {
	var free, least *run
	for i := range uint64(runProbes) {
		r := &rs.slots[(text+i)%runSlots]
		switch {
		case r.n == 0:
			if free == nil {
				free = r
			}
		case r.text == text:
			return r
		case r.end+edgeSpan < t:
			rs.close(s, r)
			if free == nil {
				free = r
			}
		case least == nil || r.n < least.n:
			least = r
		}
	}
	if free != nil {
		return free
	}
	if least.n > 1 {
		rs.evicted++
	}
	rs.close(s, least)
	return least
}

// near says whether a copy belongs to the run.
func (r *run) near(t, end, gap int64) bool {
	return t <= r.end+gap && end >= r.first-gap && t-r.first <= maxRunSpan
}

func (r *run) join(t, end int64) {
	if r.n == 1 {
		r.starts = append(r.starts[:0], interval{r.first, r.end})
	}
	if len(r.starts) < maxRunKeep {
		r.starts = append(r.starts, interval{t, end})
	}
	r.n++
	r.first, r.last, r.end = min(r.first, t), max(r.last, t), max(r.end, end)
}

// close ends a run: it becomes a burst, an edge, or nothing.
func (rs *runs) close(s *Summary, r *run) {
	if r.n == 0 {
		return
	}
	if r.first < s.from+edgeSpan || r.end > s.to-edgeSpan {
		e := *r
		e.starts = slices.Clone(r.starts)
		rs.edges = append(rs.edges, e)
		if len(rs.edges) > 2*maxEdges {
			rs.trimEdges()
		}
	} else if b, ok := r.burst(); ok {
		r.class.bursts = append(r.class.bursts, b)
		if len(r.class.bursts) > 2*maxBursts {
			r.class.trimBursts()
		}
	}
	r.n = 0
	r.starts = r.starts[:0]
}

// settle closes every run.
func (rs *runs) settle(s *Summary) {
	for i := range rs.slots {
		rs.close(s, &rs.slots[i])
	}
	rs.trimEdges()
}

// trimEdges keeps the largest edges.
func (rs *runs) trimEdges() {
	if len(rs.edges) <= maxEdges {
		return
	}
	slices.SortFunc(rs.edges, func(a, b run) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.text, b.text), cmp.Compare(a.first, b.first))
	})
	rs.edges = rs.edges[:maxEdges]
}

// joined returns the edges with the pieces of one run put together.
func (rs *runs) joined(gap int64) []run {
	list := slices.Clone(rs.edges)
	slices.SortFunc(list, func(a, b run) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.first, b.first), cmp.Compare(a.end, b.end))
	})
	var out []run
	for _, r := range list {
		if k := len(out) - 1; k >= 0 && out[k].text == r.text && out[k].near(r.first, r.end, gap) {
			out[k].absorb(r)
			continue
		}
		r.starts = slices.Clone(r.starts)
		out = append(out, r)
	}
	return out
}

// absorb adds a later piece of the same run.
func (r *run) absorb(o run) {
	if r.n == 1 {
		r.starts = []interval{{r.first, r.end}}
	}
	if o.n == 1 {
		r.starts = append(r.starts, interval{o.first, o.end})
	} else {
		r.starts = append(r.starts, o.starts...)
	}
	r.n += o.n
	r.first, r.last, r.end = min(r.first, o.first), max(r.last, o.last), max(r.end, o.end)
	r.hosts.union(o.hosts)
	r.conns |= o.conns
}

// burst measures a run that is large enough to be kept.
func (r *run) burst() (Burst, bool) {
	hosts := r.hosts.len()
	if r.n < 3 && (r.n < 2 || hosts < 2) {
		return Burst{}, false
	}
	b := Burst{
		Text: r.text, Start: time.Unix(0, r.first).UTC(), Span: time.Duration(r.last - r.first),
		Count: r.n, Hosts: hosts, Conns: bits.OnesCount64(r.conns), hosts: r.hosts, conns: r.conns,
	}
	b.Peak = atOnce(r.starts) // sorts them
	w := 0
	for i, v := range r.starts {
		for v.from-r.starts[w].from >= int64(time.Second) {
			w++
		}
		b.Second = max(b.Second, uint64(i+1-w))
	}
	return b, true
}

// compareBursts puts the largest first, whatever the order they came in.
func compareBursts(a, b Burst) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), a.Start.Compare(b.Start), cmp.Compare(a.Text, b.Text))
}

// trimBursts keeps the largest bursts of a class.
func (c *class) trimBursts() {
	slices.SortFunc(c.bursts, compareBursts)
	if len(c.bursts) > maxBursts {
		c.bursts = c.bursts[:maxBursts]
	}
}
