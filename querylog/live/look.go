package live

import (
	"context"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/querylog"
)

// A Looker samples a server like Sample, but one look at a time, for those who
// want to know what happens while it happens.
type Looker struct{ w *sampler }

// NewLooker returns a Looker that has seen nothing.
func (s *Server) NewLooker() *Looker { return &Looker{newSampler(s)} }

// A Running is one statement text of which several copies run at a time.
type Running struct {
	Shape  string
	Copies int
	Hosts  int // clients they come from
}

// Look takes one sample and returns the statements of which several copies
// run. An error means that the server was lost.
func (l *Looker) Look(ctx context.Context) ([]Running, error) {
	if err := l.w.lookDigests(ctx); err != nil {
		return nil, err
	}
	var list []Running
	for _, copies := range l.w.list.identical() {
		if len(copies) < 2 {
			continue
		}
		hosts := map[string]bool{}
		for _, q := range copies {
			hosts[q.host] = true
		}
		list = append(list, Running{Shape: string(l.w.lex.AppendShape(nil, copies[0].sql)), Copies: len(copies), Hosts: len(hosts)})
	}
	slices.SortFunc(list, func(a, b Running) int {
		if a.Copies != b.Copies {
			return b.Copies - a.Copies
		}
		return strings.Compare(a.Shape, b.Shape)
	})
	return list, nil
}

// Take returns what was seen since the last Take, and starts anew.
func (l *Looker) Take() *querylog.Summary {
	l.w.closeHerds(true)
	out := l.w.out
	out.Cover(l.w.cov)
	l.w.begin()
	return out
}

// CanCountAll tells whether the server counts every statement; else only
// those that are caught running are seen.
func (s *Server) CanCountAll() bool { return s.PerfSchema }
