package querylog

import (
	"cmp"
	"math"
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

// runHead tells whether a copy belongs to a run. It is all that there is of a
// statement that came once, as most do.
type runHead struct {
	text       uint64
	first, end int64
	class      *class
	n          uint32
	host       hostID
	conn       uint8 // its bit in the set of connections; noConn for none
}

const noConn = 64

// interval is one copy: its start and end in Unix nanoseconds.
type interval struct{ from, to int64 }

const (
	runSlots     = 1 << 14
	runProbes    = 4
	maxRunSpan   = int64(60 * time.Second) // a longer one is steady traffic and is cut
	maxRunKeep   = 1 << 15                 // copies whose times are kept
	edgeSpan     = int64(10 * time.Second) // how near the ends of the data a run may go on elsewhere
	maxEdges     = 1 << 13
	maxBursts    = 1 << 13 // kept for a class
	maxAllBursts = 1 << 16 // of all classes; with more, all keep fewer
	reuseStarts  = 16      // times for which a place keeps its memory
)

// runs follows the identical statements that are near each other in time. Of
// those that come once it looks at the heads only, which lie close together.
type runs struct {
	heads   []runHead
	slots   []run // of the same places, from the second copy on
	edges   []run // near the ends of the data: they may go on in another summary
	evicted uint64
}

// add counts one copy.
func (rs *runs) add(s *Summary, c *class, e *Event, host hostID) {
	if rs.slots == nil {
		rs.heads, rs.slots = make([]runHead, runSlots), make([]run, runSlots)
	}
	t, conn := e.Time.UnixNano(), uint8(noConn)
	if e.Has&HasThread != 0 {
		conn = uint8(e.ThreadID * 0x9E3779B97F4A7C15 >> 58)
	}
	next := runHead{text: e.Text, first: t, end: t + int64(e.Duration), class: c, n: 1, host: host, conn: conn}
	i := rs.find(s, e.Text, t)
	h := &rs.heads[i]
	if h.n > 0 && h.text == e.Text {
		if h.near(t, next.end, s.gap()) {
			rs.join(i, &next)
			return
		}
		rs.close(s, i)
	}
	*h = next
}

// join adds a copy to a run.
func (rs *runs) join(i uint64, o *runHead) {
	h, r := &rs.heads[i], &rs.slots[i]
	if h.n == 1 {
		r.begin(h)
		r.starts = append(r.starts, interval{h.first, h.end})
	}
	r.n++
	if len(r.starts) < maxRunKeep {
		r.starts = append(r.starts, interval{o.first, o.end})
	}
	r.first, r.last, r.end = min(r.first, o.first), max(r.last, o.first), max(r.end, o.end)
	r.from(o)
	h.first, h.end, h.n = r.first, r.end, uint32(min(r.n, math.MaxUint32))
}

// begin makes a run of its first copy. The memory of its starts is used again.
func (r *run) begin(h *runHead) {
	*r = run{text: h.text, class: h.class, first: h.first, last: h.first, end: h.end, n: 1, starts: r.starts[:0]}
	r.from(h)
}

// from notes who sent a copy.
func (r *run) from(h *runHead) {
	r.hosts.add(h.host)
	r.conns |= 1 << h.conn
}

// find returns the place of a text: its own, a free one, or that of the least
// of those in its way.
func (rs *runs) find(s *Summary, text uint64, t int64) uint64 {
	const none = runSlots
	free, least := uint64(none), uint64(none)
	for k := range uint64(runProbes) {
		i := (text + k) % runSlots
		h := &rs.heads[i]
		if h.n > 0 && h.text != text && h.end+edgeSpan < t {
			rs.close(s, i)
		}
		switch {
		case h.n == 0:
			if free == none {
				free = i
			}
		case h.text == text:
			return i
		case least == none || h.n < rs.heads[least].n:
			least = i
		}
	}
	if free != none {
		return free
	}
	if rs.heads[least].n > 1 {
		rs.evicted++
	}
	rs.close(s, least)
	return least
}

// near says whether a copy belongs to the run.
func (h *runHead) near(t, end, gap int64) bool {
	return t <= h.end+gap && end >= h.first-gap && t-h.first <= maxRunSpan
}

// close ends a run: it becomes a burst, an edge, or nothing.
func (rs *runs) close(s *Summary, i uint64) {
	h := &rs.heads[i]
	edge := s.atEnd(h.first, h.end)
	if h.n > 1 || h.n == 1 && edge {
		rs.keep(s, i, edge)
	}
	h.n = 0
	if r := &rs.slots[i]; cap(r.starts) > reuseStarts {
		r.starts = nil
	}
}

// sweep closes the runs that ended well before a time: each keeps the times of
// its copies as long as it is open.
func (rs *runs) sweep(s *Summary, t int64) {
	for i := range rs.heads {
		if h := &rs.heads[i]; h.n > 1 && h.end+edgeSpan < t {
			rs.close(s, uint64(i))
		}
	}
}

// keep turns a run into a burst or an edge.
func (rs *runs) keep(s *Summary, i uint64, edge bool) {
	h, r := &rs.heads[i], &rs.slots[i]
	if h.n == 1 {
		r.begin(h)
	}
	if edge {
		e := *r
		e.starts = slices.Clone(r.starts)
		rs.edges = append(rs.edges, e)
		if len(rs.edges) > 2*maxEdges {
			rs.trimEdges(s)
		}
	} else if b, ok := r.burst(); ok {
		s.keepBurst(r.class, b)
	}
}

// settle closes every run.
func (rs *runs) settle(s *Summary) {
	for i := range rs.heads {
		rs.close(s, uint64(i))
	}
	rs.trimEdges(s)
}

// atEnd says whether a run may go on in another summary.
func (s *Summary) atEnd(first, end int64) bool {
	return first < s.from+edgeSpan || end > s.to-edgeSpan
}

// trimEdges makes bursts of the edges that the data have gone beyond, when
// there are many, and keeps the largest of the others.
func (rs *runs) trimEdges(s *Summary) {
	if len(rs.edges) <= maxEdges {
		return
	}
	rs.edges = slices.DeleteFunc(rs.joined(s.gap()), func(r run) bool {
		if s.atEnd(r.first, r.end) {
			return false
		}
		if b, ok := r.burst(); ok {
			s.keepBurst(r.class, b)
		}
		return true
	})
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

// near says whether another piece belongs to the run.
func (r *run) near(t, end, gap int64) bool {
	h := runHead{first: r.first, end: r.end}
	return h.near(t, end, gap)
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

// keepBurst adds a burst to its class.
func (s *Summary) keepBurst(c *class, b Burst) {
	c.bursts = append(c.bursts, b)
	if len(c.bursts) > 2*maxBursts {
		s.trimBursts(c)
	}
}

// trimBursts keeps the largest bursts of a class. Of equal ones the hash
// decides, not the time: what is left of a rhythm must not look as if it had
// begun or ended.
func (s *Summary) trimBursts(c *class) {
	if most := maxBursts >> s.fewer; len(c.bursts) > most {
		mix := func(b *Burst) uint64 { return (b.Text ^ uint64(b.Start.UnixNano())) * 0x9E3779B97F4A7C15 }
		slices.SortFunc(c.bursts, func(a, b Burst) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(mix(&a), mix(&b)), compareBursts(a, b))
		})
		s.other.Bursts += uint64(len(c.bursts) - most)
		c.bursts = slices.Clip(slices.Clone(c.bursts[:most]))
	}
}

// boundBursts lets every class keep fewer bursts until they are few enough.
// Whether that happens depends on the data alone, not on their order.
func (s *Summary) boundBursts() {
	for {
		n := 0
		for _, c := range s.classes {
			s.trimBursts(c)
			n += len(c.bursts)
		}
		if n <= maxAllBursts || maxBursts>>s.fewer == 1 {
			return
		}
		s.fewer++
	}
}
