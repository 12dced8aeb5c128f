package live

import (
	"context"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/querylog"
)

// A Looker samples a server like Sample, but one look at a time, for those who
// want to know what happens while it happens.
type Looker struct{ w *watcher }

// NewLooker returns a Looker that has seen nothing.
func (s *Server) NewLooker() *Looker {
	w := &watcher{s: s, out: &querylog.Summary{}, seen: map[process]bool{}}
	w.ownShapes()
	w.begin()
	return &Looker{w}
}

// begin starts a new account.
func (w *watcher) begin() {
	w.out = &querylog.Summary{}
	w.cov = querylog.Coverage{Source: w.s.address + " live", Version: w.s.Version, Server: w.s.flavour(), Complete: true}
	if !w.s.PerfSchema {
		w.cov.SampleKind = querylog.SampledProcesses
	}
}

// A Running is one statement text of which several copies run at a time.
type Running struct {
	Shape  string
	Copies int
	Hosts  int // clients they come from
}

// Look takes one sample and returns the statements of which several copies
// run. An error means that the server was lost.
func (l *Looker) Look(ctx context.Context) ([]Running, error) {
	l.w.running = l.w.running[:0]
	if err := l.w.look(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(l.w.running, func(a, b Running) int {
		if a.Copies != b.Copies {
			return b.Copies - a.Copies
		}
		return strings.Compare(a.Shape, b.Shape)
	})
	return l.w.running, nil
}

// Take returns what was seen since the last Take, and starts anew.
func (l *Looker) Take() *querylog.Summary {
	out := l.w.out
	out.Cover(l.w.cov)
	l.w.begin()
	return out
}

// CanCountAll tells whether the server counts every statement; else only
// those that are caught running are seen.
func (s *Server) CanCountAll() bool { return s.PerfSchema }

// runs notes a text of which several copies run.
func (w *watcher) runs(e *querylog.Event, hosts map[string]uint64) {
	n := 0
	for _, copies := range hosts {
		n += int(copies)
	}
	if n > 1 {
		w.running = append(w.running, Running{Shape: string(w.lex.AppendShape(nil, e.Query)), Copies: n, Hosts: len(hosts)})
	}
}
