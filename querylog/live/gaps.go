package live

import (
	"fmt"
	"time"
)

// gap is a time in which the server was lost.
type gap struct {
	from, to time.Time // to is zero while it lasts
	err      string
}

// gaps are all of them; the first ones are kept by their times.
type gaps struct {
	list     []gap
	n        int
	total    time.Duration
	restarts int
	now      gap
}

const maxGaps = 10

func (g *gaps) open(at time.Time, err error) { g.now = gap{from: at, err: err.Error()} }

func (g *gaps) isOpen() bool { return !g.now.from.IsZero() }

// stopped says why the server is not there at the end.
func (g *gaps) stopped() string {
	return fmt.Sprintf("the server was lost at %s: %s", g.now.from.Format(time.RFC3339), g.now.err)
}

func (g *gaps) close(at time.Time) {
	g.now.to = at
	g.n++
	g.total += at.Sub(g.now.from)
	if len(g.list) < maxGaps {
		g.list = append(g.list, g.now)
	}
	g.now = gap{}
}

// notes says when nothing was seen.
func (g *gaps) notes() (notes []string) {
	for _, x := range g.list {
		notes = append(notes, fmt.Sprintf("the server was lost from %s to %s (%v): what ran then is not counted",
			x.from.Format(time.RFC3339), x.to.Format(time.RFC3339), x.to.Sub(x.from).Round(time.Millisecond)))
	}
	if g.n > len(g.list) {
		notes = append(notes, fmt.Sprintf("%d such gaps in all, %v together", g.n, g.total.Round(time.Second)))
	}
	if g.restarts > 0 {
		notes = append(notes, fmt.Sprintf("it was started anew %d times meanwhile", g.restarts))
	}
	return notes
}
