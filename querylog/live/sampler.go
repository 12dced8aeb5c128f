package live

import (
	"context"
	"time"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/sqltext"
)

// sampler puts together what the digests count and what the process list
// shows. The digests are the truth of how many statements ran; the process list
// gives texts, clients and starts of those that it catches.
type sampler struct {
	s   *Server
	out *querylog.Summary
	cov querylog.Coverage
	lex sqltext.Lexer
	own map[uint64]bool

	counting bool // the digests can be read
	denied   bool // they exist, and may not be read
	digests  digests
	list     processes

	ended   []*process       // since the last account
	herds   map[uint64]*herd // by text
	peaks   map[uint64]uint64
	caught  uint64 // statements of which the process list tells
	orphans uint64 // of them: in no digest, and not counted
	extra   uint64 // of them: in no digest, and counted as they were seen
}

func newSampler(s *Server) *sampler {
	w := &sampler{s: s, counting: s.PerfSchema, herds: map[uint64]*herd{}, peaks: map[uint64]uint64{}, own: map[uint64]bool{}}
	for _, a := range ExplainAccess() {
		w.own[w.lex.Sum([]byte(a.SQL)).Shape] = true
	}
	own := func(shape uint64) bool { return w.own[shape] }
	w.digests = digests{lex: &w.lex, own: own}
	w.list = processes{lex: &w.lex, own: own, account: s.account}
	w.begin()
	return w
}

// begin starts a new summary.
func (w *sampler) begin() {
	w.out = &querylog.Summary{}
	w.cov = querylog.Coverage{Source: w.s.address + " live", Version: w.s.Version, Server: w.s.flavour(), Complete: true}
	w.cov.Fine = !w.counting && w.s.MariaDB
	if !w.counting {
		w.cov.SampleKind = querylog.SampledProcesses
	}
}

// lookProcesses looks at what runs.
func (w *sampler) lookProcesses(ctx context.Context) error {
	ended, err := w.list.look(ctx, w.s)
	if err != nil {
		return err
	}
	w.caught += uint64(len(ended))
	w.ended = append(w.ended, ended...)
	for text, copies := range w.list.identical() {
		if n := uint64(len(copies)); n >= herdCopies && n > w.peaks[text] {
			w.peaks[text] = n
		}
	}
	return nil
}

// lookDigests looks at the counters, and accounts for the time since the last
// look. The process list is looked at just before, so that the statements that
// are known to have ended are those that the digests count.
func (w *sampler) lookDigests(ctx context.Context) error {
	if err := w.lookProcesses(ctx); err != nil {
		return err
	}
	if !w.counting {
		w.accountSeen()
		return nil
	}
	before, first := w.digests.at, w.digests.rows == nil
	grown, err := w.digests.look(ctx, w.s)
	if isDenied(err) {
		w.counting, w.denied = false, true
		w.cov.SampleKind = querylog.SampledProcesses
		return nil
	}
	if err != nil {
		return err
	}
	if first {
		w.settle() // nobody knows whether they are counted
		return nil
	}
	w.account(before, w.digests.at, grown)
	return nil
}

// accountSeen counts what was caught running, where nothing else counts.
func (w *sampler) accountSeen() {
	for _, q := range w.ended {
		e := q.event()
		e.RowsSent = 1 // not known (Has), but nothing hints at a missing row
		w.out.Observe(&e, &w.cov)
	}
	w.settle()
}

// event is a statement that was caught running. How long it ran is at least
// as long as it was seen.
func (q *process) event() querylog.Event {
	e := querylog.Event{
		Time: q.start, Query: q.sql, Size: q.size, Duration: q.seen.Sub(q.start), User: q.user, Host: q.host, DB: q.db, ThreadID: q.conn,
		Shape: q.shape, Text: q.text, Has: querylog.HasTime | querylog.HasThread | querylog.HasDuration,
	}
	if q.prepared {
		e.Kind = querylog.KindExecute
	}
	return e
}

// account counts what ran between two looks at the digests.
func (w *sampler) account(from, to time.Time, grown []growth) {
	counted := map[uint64]uint64{}
	for _, g := range grown {
		counted[g.shape] += g.n
	}
	caught := w.assign(counted)
	for shape, list := range caught {
		w.herd(shape, list, counted[shape])
	}
	starts := map[uint64][]time.Time{}
	for shape, list := range caught {
		for _, q := range list {
			starts[shape] = append(starts[shape], q.start)
		}
	}
	for _, g := range grown {
		w.count(g, caught, starts[g.shape], from.Add(to.Sub(from)/2))
	}
	w.closeHerds(false)
	w.settle()
}

// settle forgets what was accounted for, but not what still runs.
func (w *sampler) settle() {
	w.ended = w.ended[:0]
	running := w.list.identical()
	for text := range w.peaks {
		if running[text] == nil {
			delete(w.peaks, text)
		}
	}
}

// assign puts the statements caught running under the digests that counted
// them, by shape. No more are put there than were counted. Those that no digest
// can have counted are counted by themselves.
func (w *sampler) assign(counted map[uint64]uint64) map[uint64][]*process {
	caught := map[uint64][]*process{}
	for _, q := range w.ended {
		shape, ok := w.digests.shapes.of(&w.lex, q.shape, q.sql)
		switch {
		case ok && uint64(len(caught[shape])) < counted[shape]:
			q.shape = shape
			caught[shape] = append(caught[shape], q)
		case !ok && (q.prepared || w.digests.strayed > 0):
			w.extra++
			e := q.event()
			w.out.ObserveMany(&e, 1, &w.cov)
			w.herd(q.shape, []*process{q}, 0)
		case !ok:
			w.orphans++
		}
	}
	return caught
}

// count counts the growth of one digest: those caught running by themselves,
// the others without text and client at the starts of the caught ones of their
// shape, and in the middle between the two looks where too few were caught.
func (w *sampler) count(g growth, caught map[uint64][]*process, starts []time.Time, mid time.Time) {
	n := g.n
	list := caught[g.shape]
	for ; len(list) > 0 && n > 0; list, n = list[1:], n-1 {
		e := list[0].event()
		e.DB = g.schema
		if g.mean > 0 {
			e.Duration = g.mean
		}
		w.out.ObserveMany(&e, 1, &w.cov)
	}
	caught[g.shape] = list
	if len(starts) < herdCopies {
		starts = []time.Time{mid.Add(-g.mean)}
	}
	for i, at := range starts {
		share := n / uint64(len(starts)-i)
		w.out.ObserveMany(&querylog.Event{
			Time: at, Query: []byte(g.text), DB: g.schema, Shape: g.shape,
			Duration: g.mean, Has: querylog.HasTime | querylog.HasDuration,
		}, share, &w.cov)
		n -= share
	}
}

// herd follows the texts of one shape. counted is 0 where no digest counts.
func (w *sampler) herd(shape uint64, list []*process, counted uint64) {
	texts := map[uint64]uint64{}
	for _, q := range list {
		h := w.herds[q.text]
		if h == nil {
			h = &herd{e: q.event(), first: q.start, last: q.start}
			h.e.Shape = shape
			w.herds[q.text] = h
		}
		h.join(q)
		texts[q.text]++
	}
	for text, seen := range texts {
		h := w.herds[text]
		h.of += uint64(len(list))
		h.counted += counted
		h.peak = max(h.peak, w.peaks[text])
		if counted == 0 {
			h.alone++ // they come one by one
			seen = h.alone
		}
		h.second = max(h.second, atLeast(counted, seen, uint64(len(list))))
	}
}

// closeHerds notes the herds that did not go on, or all.
func (w *sampler) closeHerds(all bool) {
	for text, h := range w.herds {
		if h.touched && !all && h.last.Sub(h.first) < herdSpan {
			h.touched, h.alone = false, 0
			continue
		}
		delete(w.herds, text)
		if b, ok := h.burst(); ok {
			w.out.Sight(&h.e, b, h.hosts, h.conns)
		}
	}
}

// end accounts for what still runs where nothing else counts it.
func (w *sampler) end() {
	if !w.counting {
		for _, q := range w.list.running {
			w.ended = append(w.ended, q)
		}
		w.caught += uint64(len(w.list.running))
		w.accountSeen()
	}
	w.closeHerds(true)
}

// resume goes on after the server came back, which may be set otherwise now.
func (w *sampler) resume() {
	w.counting = w.s.PerfSchema && !w.denied
	if !w.counting {
		w.cov.SampleKind = querylog.SampledProcesses
	}
}

// forget gives up what is under way: the server was lost.
func (w *sampler) forget() {
	if !w.counting {
		w.accountSeen()
	}
	w.digests.forget()
	w.list.forget()
	w.ended = nil
}
