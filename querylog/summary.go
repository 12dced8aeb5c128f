package querylog

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/querylog/sqltext"
)

// Summary is what is counted from query logs. It is a commutative monoid: the
// zero value is ready, and merging the summaries of the parts of a log gives
// that of the whole. Its memory is bounded: above the caps below, the rarest
// classes are folded into one and the fold is stated. It is not safe for
// concurrent use.
type Summary struct {
	classes map[uint64]*class
	recent  [256]*class // the last ones used, by hash
	other   folded
	gone    shapeSet // shapes that were folded at some time
	text    int      // bytes of the shapes and samples of the classes, about
	fewer   int      // how often the bursts that a class may keep were halved

	hosts map[string]hostID
	names []string // of the hosts, by number
	load  []hostLoad

	from, to int64 // first and last start, Unix ns; valid when timed > 0
	timed    uint64
	fine     bool // some stamps are finer than a second
	coarse   bool // some are not
	level    int  // how far the cells are coarsened
	added    uint64

	runs    runs
	missing map[uint64]*missing
	missed  uint64   // missing-row counts that were folded
	once    []uint32 // texts without row counts that were seen before, see again

	kinds    [8]uint64
	own      uint64 // statements of herdscan itself
	throttle uint64
	failures *comb.Series // refused connections and failed statements
	restarts []time.Time

	coverage []Coverage
	lex      sqltext.Lexer
	fold     bool
}

// Caps of a Summary.
const (
	maxClasses = 8192
	maxText    = 16 << 20 // bytes of shapes and samples
	maxLoose   = 4 << 20  // cells that are not packed, as long as none is
	maxLate    = 1 << 19  // cells that are not packed, later on
	maxLevel   = 8
	maxMissing = 1 << 14
	maxStarts  = 256 // server starts remembered
)

// maxCells is how many cells are kept at a level. Those without clients take
// about half the memory.
func maxCells(level int) int {
	if level < 2 {
		return 7 << 20
	}
	return 16 << 20
}

// folded counts what was given up above the caps.
type folded struct {
	Events uint64 // of classes that were folded
	Hosts  uint64 // events of clients without a number
	Bursts uint64 // bursts beyond those kept
}

// hostLoad is what one client did.
type hostLoad struct{ n uint64 }

// missing is one SELECT text that found no row.
type missing struct {
	class       *class
	n           uint64
	first, last int64  // starts
	windows     uint64 // of missWindow in which it was asked, counted when it moves from one to the next
}

// missWindow is the grain in which steady misses are told from bursts.
const missWindow = int64(8 * time.Second)

// at counts one miss.
func (m *missing) at(t int64) {
	if m.windows == 0 || t/missWindow > m.last/missWindow || t/missWindow < m.first/missWindow {
		m.windows++
	}
	m.first, m.last = min(m.first, t), max(m.last, t)
}

// merge adds another part of the same log.
func (m *missing) merge(o *missing) {
	if m.windows > 0 && o.windows > 0 && (m.last/missWindow == o.first/missWindow || o.last/missWindow == m.first/missWindow) {
		m.windows--
	}
	m.n += o.n
	m.windows += o.windows
	m.first, m.last = min(m.first, o.first), max(m.last, o.last)
}

// gap is how far apart the copies of one burst may be.
func (s *Summary) gap() int64 {
	if s.fine {
		return int64(250 * time.Millisecond)
	}
	return int64(time.Second)
}

// Add counts one event.
func (s *Summary) Add(e *Event) {
	if int(e.Kind) < len(s.kinds) {
		s.kinds[e.Kind]++
	}
	if e.throttle {
		s.throttle++
		return
	}
	if e.own || e.Shape == 0 && bytes.HasPrefix(e.Query, ownMark) {
		s.own++
		return
	}
	if e.Kind == KindPrepare {
		return // its Execute counts
	}
	if e.Shape == 0 {
		sum := s.lex.Sum(e.Query)
		e.Shape, e.Text = sum.Shape, sum.Text
	}
	if !e.Kind.Ran() {
		s.connection(e)
	}
	if e.Has&HasTime != 0 {
		s.cover(e.Time.UnixNano())
	}
	h := s.host(e)
	c := s.class(e)
	c.observe(e, h)
	if e.Has&HasTime != 0 && !c.follower {
		s.runs.add(s, c, e, h)
	}
	s.fail(e)
	if e.RowsSent == 0 && !c.follower { // without row counts any read may have found nothing
		if e.Has&HasRowsSent != 0 || s.again(e.Text) {
			s.miss(c, e)
		}
	}
	if s.added++; s.added&0xffff == 0 {
		if e.Has&HasTime != 0 {
			s.runs.sweep(s, e.Time.UnixNano())
		}
		s.bound()
	}
}

// ownMark begins every statement that herdscan sends.
var ownMark = []byte("/* herdscan */")

// connection gives connects and other commands a class by their kind alone.
func (s *Summary) connection(e *Event) {
	if e.Kind == KindAdmin {
		return
	}
	e.Query = []byte(e.Kind.String())
	sum := s.lex.Sum(e.Query)
	e.Shape, e.Text = sum.Shape, sum.Text
}

// cover widens the time that the summary spans.
func (s *Summary) cover(t int64) {
	if s.timed == 0 {
		s.from, s.to = t, t
	}
	s.timed++
	s.from, s.to = min(s.from, t), max(s.to, t)
}

// host numbers the client of an event.
func (s *Summary) host(e *Event) hostID {
	if e.Host == "" {
		return noHost
	}
	if c := e.client; c != nil && c.owner == s {
		s.load[c.id].n++
		return c.id
	}
	id := s.hostNumber(e.Host)
	if e.client != nil && id < otherHost {
		e.client.owner, e.client.id = s, id
	}
	s.load[id].n++
	return id
}

// hostNumber returns the number of a client by name.
func (s *Summary) hostNumber(name string) hostID {
	if id, ok := s.hosts[name]; ok {
		return id
	}
	if s.hosts == nil {
		s.hosts = map[string]hostID{}
	}
	id := otherHost
	if len(s.names) < maxHosts {
		id = hostID(len(s.names))
		s.names = append(s.names, name)
		s.hosts[name] = id
	} else {
		s.other.Hosts++
	}
	for int(id) >= len(s.load) {
		s.load = append(s.load, hostLoad{})
	}
	return id
}

// class finds or makes the class of an event.
func (s *Summary) class(e *Event) *class {
	recent := &s.recent[e.Shape%uint64(len(s.recent))]
	if c := *recent; c != nil && c.hash == e.Shape {
		return c
	}
	c, ok := s.classes[e.Shape]
	if !ok {
		c = s.newClass(e)
	}
	*recent = c
	return c
}

func (s *Summary) newClass(e *Event) *class {
	if s.classes == nil {
		s.classes = map[uint64]*class{}
	}
	s.lex.FoldDigits = s.fold
	shape := string(s.lex.AppendShape(nil, e.Query[:min(len(e.Query), 64<<10)]))
	c := &class{hash: e.Shape, shape: shape, admin: !e.Kind.Ran(), partial: s.gone.has(e.Shape)}
	text := len(shape) + min(len(e.Query), maxSample)
	if len(s.classes) >= 2*maxClasses || s.text+text > maxText {
		s.foldClasses()
	}
	s.text += text
	c.follower = c.admin || isFollower(shape)
	s.classes[e.Shape] = c
	return c
}

// text is how many bytes the shape and the sample take.
func (c *class) text() int { return len(c.shape) + cap(c.sample) }

// foldClasses gives up the rarest classes: by count, then by hash, never by
// age. At most half of what is allowed is left.
func (s *Summary) foldClasses() {
	list := make([]*class, 0, len(s.classes))
	for _, c := range s.classes {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *class) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.hash, b.hash))
	})
	keep := 0
	for s.text = 0; keep < min(len(list), maxClasses) && s.text+list[keep].text() <= maxText/2; keep++ {
		s.text += list[keep].text()
	}
	gone := map[*class]bool{}
	for _, c := range list[keep:] {
		s.gone.add(c.hash)
		s.other.Events += c.n
		gone[c] = true
		delete(s.classes, c.hash)
	}
	for i := range s.runs.heads {
		if gone[s.runs.heads[i].class] {
			s.runs.heads[i] = runHead{}
		}
		if gone[s.runs.slots[i].class] {
			s.runs.slots[i] = run{}
		}
	}
	s.runs.edges = slices.DeleteFunc(s.runs.edges, func(r run) bool { return gone[r.class] })
	for text, m := range s.missing {
		if gone[m.class] {
			delete(s.missing, text)
		}
	}
	clear(s.recent[:])
}

// fail counts refused connections and failed statements.
func (s *Summary) fail(e *Event) {
	if e.Has&HasTime == 0 || e.Kind != KindDenied && (e.Has&HasError == 0 || e.Errno == 0) {
		return
	}
	if s.failures == nil {
		s.failures = comb.NewSeries(comb.FineBin)
	}
	s.failures.Add(e.Time.UnixNano(), 1)
}

// again says whether a text was seen before, about: a table of tags keeps the
// many texts that come only once out of the table of misses. Without row
// counts misses can only be asked about, so the first one may be lost.
func (s *Summary) again(text uint64) bool {
	const slots = 1 << 16
	if s.once == nil {
		s.once = make([]uint32, slots)
	}
	slot, tag := &s.once[text%slots], uint32(text>>32)|1
	if *slot == tag {
		return true
	}
	*slot = tag
	return false
}

// miss counts a statement that found no row. Only reads count: they are what a cache is asked for.
func (s *Summary) miss(c *class, e *Event) {
	if len(c.shape) < 6 || c.shape[:6] != "select" {
		return
	}
	m, ok := s.missing[e.Text]
	if !ok {
		if s.missing == nil {
			s.missing = map[uint64]*missing{}
		}
		if len(s.missing) >= 2*maxMissing {
			s.foldMissing()
		}
		m = &missing{class: c, first: math.MaxInt64, last: math.MinInt64}
		s.missing[e.Text] = m
	}
	m.n++
	if e.Has&HasTime != 0 {
		m.at(e.Time.UnixNano())
	}
}

// foldMissing keeps the texts that missed most often.
func (s *Summary) foldMissing() {
	type item struct {
		text uint64
		n    uint64
	}
	list := make([]item, 0, len(s.missing))
	for t, m := range s.missing {
		list = append(list, item{t, m.n})
	}
	slices.SortFunc(list, func(a, b item) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.text, b.text)) })
	for _, it := range list[min(maxMissing, len(list)):] {
		s.missed += it.n
		delete(s.missing, it.text)
	}
}

// bound packs the cells when there are many, and coarsens all when there are
// too many. Whether that happens depends on the data alone, not on their order.
func (s *Summary) bound() {
	loose, packed, bursts := 0, false, 0
	s.text = 0
	for _, c := range s.classes {
		s.text += c.text()
		loose += len(c.starts.list)
		packed = packed || len(c.starts.packed) > 0
		bursts += len(c.bursts)
	}
	if bursts > 2*maxAllBursts {
		s.boundBursts()
	}
	if loose <= maxLoose && !packed || loose <= maxLate {
		return
	}
	for _, c := range s.classes {
		c.starts.pack(s.level)
	}
	s.limit()
}

// limit coarsens all cells until they are few enough.
func (s *Summary) limit() {
	for s.cells() > maxCells(s.level) && s.level < maxLevel {
		s.level++
		for _, c := range s.classes {
			c.starts.coarsen(s.level)
		}
	}
}

// cells counts them.
func (s *Summary) cells() int {
	n := 0
	for _, c := range s.classes {
		n += c.starts.len()
	}
	return n
}

// settle closes what is open, before the summary is looked at.
func (s *Summary) settle() {
	s.runs.settle(s)
	for _, c := range s.classes {
		c.starts.settle(s.level)
	}
	s.boundBursts()
	for _, c := range s.classes {
		slices.SortFunc(c.bursts, compareBursts)
	}
	s.bound()
	s.limit()
	if len(s.missing) > maxMissing {
		s.foldMissing()
	}
}

// Merge adds what o counted. Both stay usable.
func (s *Summary) Merge(o *Summary) {
	s.settle()
	o.settle()
	ids := s.mergeHosts(o)
	if o.timed > 0 {
		n := s.timed
		s.cover(o.from)
		s.cover(o.to)
		s.timed = n + o.timed
	}
	s.fewer = max(s.fewer, o.fewer)
	if o.level > s.level {
		s.level = o.level
		for _, c := range s.classes {
			c.starts.coarsen(s.level)
		}
	}
	for hash, c := range s.classes {
		c.partial = c.partial || o.classes[hash] == nil && o.gone.has(hash)
	}
	loose := 0
	for hash, oc := range o.classes {
		c, ok := s.classes[hash]
		if !ok {
			if s.classes == nil {
				s.classes = map[uint64]*class{}
			}
			c = &class{hash: hash, shape: oc.shape, follower: oc.follower, admin: oc.admin, partial: s.gone.has(hash)}
			s.classes[hash] = c
		}
		c.merge(oc, ids)
		s.trimBursts(c)
		c.starts.settle(s.level)
		if loose += len(c.starts.list); loose > maxLoose {
			c.starts.pack(s.level)
		}
	}
	s.gone.merge(o.gone)
	s.mergeRest(o, ids)
	s.boundBursts()
	s.bound()
	s.limit()
	if len(s.classes) > 2*maxClasses || s.text > maxText {
		s.foldClasses()
	}
	if len(s.missing) > 2*maxMissing {
		s.foldMissing()
	}
}

// mergeHosts adds the clients of o and returns their numbers in s.
func (s *Summary) mergeHosts(o *Summary) []hostID {
	ids := make([]hostID, len(o.names))
	before := s.other.Hosts
	for i, name := range o.names {
		ids[i] = s.hostNumber(name)
		s.load[ids[i]].n += o.load[i].n
		if ids[i] == otherHost {
			before += o.load[i].n
		}
	}
	if int(otherHost) < len(o.load) {
		for int(otherHost) >= len(s.load) {
			s.load = append(s.load, hostLoad{})
		}
		s.load[otherHost].n += o.load[otherHost].n
	}
	s.other.Hosts = before + o.other.Hosts
	return ids
}

// mergeRest adds what hangs on no single class.
func (s *Summary) mergeRest(o *Summary, ids []hostID) {
	for _, r := range o.runs.edges {
		r.class = s.classes[r.class.hash]
		r.hosts = r.hosts.translate(ids)
		r.starts = slices.Clone(r.starts)
		s.runs.edges = append(s.runs.edges, r)
	}
	s.runs.trimEdges(s)
	s.runs.evicted += o.runs.evicted
	for text, om := range o.missing {
		m, ok := s.missing[text]
		if !ok {
			if s.missing == nil {
				s.missing = map[uint64]*missing{}
			}
			m = &missing{class: s.classes[om.class.hash], first: math.MaxInt64, last: math.MinInt64}
			s.missing[text] = m
		}
		m.merge(om)
	}
	s.missed += o.missed
	for i, n := range o.kinds {
		s.kinds[i] += n
	}
	s.own += o.own
	s.throttle += o.throttle
	if o.failures != nil {
		if s.failures == nil {
			s.failures = comb.NewSeries(comb.FineBin)
		}
		_ = s.failures.Merge(o.failures) // the bins are equal
	}
	s.restarts = append(s.restarts, o.restarts...)
	slices.SortFunc(s.restarts, time.Time.Compare)
	s.restarts = s.restarts[:min(len(s.restarts), maxStarts)]
	s.fine, s.coarse = s.fine || o.fine, s.coarse || o.coarse
	s.other.Events += o.other.Events
	s.other.Bursts += o.other.Bursts
	s.coverage = append(s.coverage, o.coverage...)
	slices.SortStableFunc(s.coverage, func(a, b Coverage) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), a.From.Compare(b.From))
	})
}

// Resolution is how exactly the log tells the time of a start.
func (s *Summary) Resolution() time.Duration {
	if s.fine && !s.coarse {
		return time.Microsecond
	}
	return time.Second
}

// Statements returns the number of statements that ran.
func (s *Summary) Statements() uint64 { return s.kinds[KindQuery] + s.kinds[KindExecute] }

// Span returns the first and the last start; both are zero when no time is known.
func (s *Summary) Span() (from, to time.Time) {
	if s.timed == 0 {
		return
	}
	return time.Unix(0, s.from).UTC(), time.Unix(0, s.to).UTC()
}

// Coverage returns what was read, by source.
func (s *Summary) Coverage() []Coverage { return slices.Clone(s.coverage) }
