package querylog

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// window is a span of time in Unix nanoseconds, to excluded.
type window struct{ from, to int64 }

// windowOf returns where the statements of a tooth lie: the tooth, and a bin
// on each side because its onset and width are rounded.
func (a *analyser) windowOf(t comb.Tooth) window {
	return window{t.At.UnixNano() - a.bin/2, t.At.Add(t.Width).UnixNano() + a.bin/2}
}

// in returns the cells of a class that start in a window.
func (c *class) in(w window) []cell { return c.starts.in(w.from, w.to) }

// crowd is who was there in one window.
type crowd struct {
	n       uint64
	byHost  map[hostID]uint64
	conns   uint8
	largest uint64 // copies of the most frequent identical text
	shared  uint64 // statements whose text came equally often from several clients
	most    int    // clients that sent one such text
	repeats uint64 // reads whose text was asked for already, as far as bursts tell
	texts   int    // different texts that came from several clients
	senders int    // clients of one text, at least
}

// hostCounts counts statements by client in an array, which is faster than a map.
type hostCounts struct {
	n    [maxHosts + 2]uint64
	some []hostID // those with a count
}

// add counts statements of a client; those of none are left out.
func (hc *hostCounts) add(h hostID, n uint64) {
	if h == noHost {
		return
	}
	if hc.n[h] == 0 {
		hc.some = append(hc.some, h)
	}
	hc.n[h] += n
}

// moveTo adds the counts to a map and starts again from zero.
func (hc *hostCounts) moveTo(m map[hostID]uint64) {
	for _, h := range hc.some {
		m[h] += hc.n[h]
		hc.n[h] = 0
	}
	hc.some = hc.some[:0]
}

// crowdOf counts what classes did in a window.
func (a *analyser) crowdOf(classes []*class, w window) crowd {
	cr := crowd{byHost: map[hostID]uint64{}}
	var first uint64 // copies that were the first of their burst
	var conns uint64 // of bursts
	for _, c := range classes {
		for _, x := range c.in(w) {
			cr.n += x.n()
			cr.conns |= x.conns()
			a.byHost.add(x.host(), x.n())
		}
		for _, b := range a.burstsIn(c, w) {
			cr.largest = max(cr.largest, b.Count)
			cr.senders = max(cr.senders, b.Hosts)
			conns |= b.conns
			if isRead(c.shape) {
				cr.repeats += b.Count - 1
				first++
			}
			if b.Hosts >= 2 && b.Count%uint64(b.Hosts) == 0 && b.Count/uint64(b.Hosts) <= 3 {
				cr.shared += b.Count
				cr.most = max(cr.most, b.Hosts)
				cr.texts++
			}
		}
	}
	a.byHost.moveTo(cr.byHost)
	if cr.conns == 0 { // long logs keep the clients and connections of bursts only
		cr.conns = fewConns(conns)
	}
	cr.repeats = min(cr.repeats, cr.n-min(first, cr.n)) // a burst may reach beyond the window
	return cr
}

// hosts counts the clients; long logs tell those of bursts only.
func (cr *crowd) hosts() int {
	if len(cr.byHost) == 0 {
		return cr.senders
	}
	return len(cr.byHost)
}

func (cr *crowd) connections() int { return bits.OnesCount8(cr.conns) }

// fewConns turns the set of connections of a burst into that of a cell: both
// are made of the highest bits of one hash.
func fewConns(set uint64) (few uint8) {
	for i := range 8 {
		if set>>(8*i)&0xff != 0 {
			few |= 1 << i
		}
	}
	return few
}

// even says whether all clients did the same amount: within a tenth, and far
// nearer to each other than the chance of a good balancer brings them. The
// counts of independent statements differ by their root, however many there are.
func (cr *crowd) even() bool {
	if len(cr.byHost) < 2 {
		return false
	}
	lo, hi := uint64(1<<63), uint64(0)
	for _, n := range cr.byHost {
		lo, hi = min(lo, n), max(hi, n)
	}
	off, most := float64(hi-lo), float64(hi)
	return off <= 0.1*most && off <= 0.5*math.Sqrt(most)
}

// burstsIn returns the bursts of a class that have a start in a window.
func (a *analyser) burstsIn(c *class, w window) []Burst {
	list := a.bursts[c]
	lo, _ := slices.BinarySearchFunc(list, w.from-maxRunSpan, func(b Burst, t int64) int { return cmp.Compare(b.Start.UnixNano(), t) })
	var out []Burst
	for _, b := range list[lo:] {
		at := b.Start.UnixNano()
		if at >= w.to {
			break
		}
		if at+int64(b.Span) >= w.from {
			out = append(out, b)
		}
	}
	return out
}

// gather sums up the teeth of a finding.
func (a *analyser) gather(f *Finding, classes []*class, teeth []comb.Tooth) []crowd {
	var crowds []crowd
	hosts := map[hostID]uint64{}
	var nHosts, nConns, identical []float64
	var bursts []Burst
	for _, t := range teeth {
		w := a.windowOf(t)
		cr := a.crowdOf(classes, w)
		crowds = append(crowds, cr)
		f.Count += cr.n
		for h, n := range cr.byHost {
			hosts[h] += n
		}
		nHosts = append(nHosts, float64(cr.hosts()))
		nConns = append(nConns, float64(cr.connections()))
		if cr.n > 0 {
			identical = append(identical, min(1, float64(cr.largest)/float64(cr.n)))
		}
		for _, c := range classes {
			bursts = append(bursts, a.burstsIn(c, w)...)
		}
	}
	f.Hosts, f.HostTotal = a.hostList(hosts)
	f.HostsATooth = int(median(nHosts))
	f.ConnsATooth = int(median(nConns))
	f.Identical = median(identical)
	slices.SortFunc(bursts, compareBursts)
	for _, b := range bursts {
		f.AtOnce = max(f.AtOnce, b.Peak)
	}
	f.Bursts = bursts[:min(len(bursts), MaxBursts)]
	return crowds
}

// hostList names clients, the busiest first.
func (a *analyser) hostList(hosts map[hostID]uint64) ([]Host, int) {
	var list []Host
	for h, n := range hosts {
		name := "(others)"
		if int(h) < len(a.s.names) {
			name = a.s.names[h]
		}
		list = append(list, Host{name, n})
	}
	slices.SortFunc(list, func(x, y Host) int { return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name)) })
	return list[:min(len(list), MaxHosts)], len(list)
}

// series counts the starts of one class in bins of the given width, which is
// cellUnit times a power of two.
func (c *class) series(s *comb.Series, bin time.Duration) {
	s.Reset(bin)
	shift := cellBin + bits.TrailingZeros64(uint64(bin)/uint64(cellUnit))
	number := func(x cell) int64 { return int64(x >> shift) }
	first, last := c.starts.ends()
	s.Grow(int(min(int64(c.starts.len()), number(last)-number(first)+1)))
	at, n := int64(-1), uint64(0)
	for x := range c.starts.all() {
		if b := number(x); b != at {
			s.AddBin(at, n)
			at, n = b, 0
		}
		n += x.n()
	}
	s.AddBin(at, n)
}

// second is the statements of several classes that start in one second.
type second struct {
	at int64 // Unix ns
	n  uint64
}

// seconds adds up classes by the second; only seconds with statements are
// listed. Cells that are wider than a second are spread over theirs, for at one
// place in each they would look like a herd.
func seconds(classes []*class, level int) []second {
	width := uint64(max(binOf(level)/time.Second, 1))
	var t tally
	for _, c := range classes {
		for x := range c.starts.all() {
			sec := x.at() / int64(time.Second)
			if width == 1 {
				t.add(sec, x.n())
				continue
			}
			each, rest := x.n()/width, x.n()%width
			from := (uint64(x) ^ c.hash) * 0x9E3779B97F4A7C15 >> 32
			for k := range width {
				n := each
				if (k+from)%width < rest {
					n++
				}
				t.add(sec+int64(k), n)
			}
		}
	}
	return t.list()
}

// tally counts by the second.
type tally struct {
	pages  map[int64]*[tallyPage]uint64
	filled int

	recent *[tallyPage]uint64 // the page of the last second
	at     int64              // its number
}

const tallyPage = 1 << 12 // seconds

func (t *tally) add(sec int64, n uint64) {
	if n == 0 {
		return
	}
	if sec/tallyPage != t.at || t.recent == nil {
		t.at = sec / tallyPage
		if t.recent = t.pages[t.at]; t.recent == nil {
			if t.pages == nil {
				t.pages = map[int64]*[tallyPage]uint64{}
			}
			t.recent = new([tallyPage]uint64)
			t.pages[t.at] = t.recent
		}
	}
	if t.recent[sec%tallyPage] == 0 {
		t.filled++
	}
	t.recent[sec%tallyPage] += n
}

func (t *tally) list() []second {
	out := make([]second, 0, t.filled)
	for _, at := range slices.Sorted(maps.Keys(t.pages)) {
		for i, n := range t.pages[at] {
			if n > 0 {
				out = append(out, second{(at*tallyPage + int64(i)) * int64(time.Second), n})
			}
		}
	}
	return out
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
