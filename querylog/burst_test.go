package querylog

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// burstEvents are copies of one statement from 12 clients, each minute anew.
func burstEvents(bursts, copies int) (list []Event) {
	for b := range bursts {
		for k := range copies {
			at := logStart.Add(time.Duration(b)*time.Minute + time.Duration(k)*time.Millisecond)
			list = append(list, Event{Time: at, Has: HasTime, Query: fmt.Appendf(nil, "select a from t where id = %d", b), Host: fmt.Sprint("web-", k%12)})
		}
	}
	return list
}

// TestRunsLetGo wants no memory of runs that ended long ago.
func TestRunsLetGo(t *testing.T) {
	s := &Summary{}
	for _, e := range burstEvents(1000, 300) {
		s.Add(&e)
	}
	held := 0
	for i := range s.runs.slots {
		held += cap(s.runs.slots[i].starts)
	}
	if most := 2*0xffff + reuseStarts*len(s.runs.slots); held > most {
		t.Errorf("room for %d copies, at most %d", held, most)
	}
}

// TestBoundBursts wants the same bursts however their number was bounded, and
// those left out counted.
func TestBoundBursts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(1, 300).Draw(t, "bursts")
		fewer := rapid.IntRange(7, 13).Draw(t, "fewer")
		early := rapid.IntRange(0, n).Draw(t, "early")
		whole, parts, total := &Summary{}, &Summary{}, 0
		a, b := &class{hash: 1}, &class{hash: 1}
		whole.classes, parts.classes = map[uint64]*class{1: a}, map[uint64]*class{1: b}
		for i := range n {
			seed = seed*6364136223846793005 + 1442695040888963407
			x := Burst{Text: seed, Start: logStart.Add(time.Duration(seed>>40) * time.Second), Count: 3 + seed>>60}
			whole.keepBurst(a, x)
			parts.keepBurst(b, x)
			total++
			if i == early {
				parts.fewer = fewer / 2
				parts.trimBursts(b)
			}
		}
		for _, s := range []*Summary{whole, parts} {
			s.fewer = fewer
			s.settle()
		}
		if d := cmp.Diff(a.bursts, b.bursts, cmp.AllowUnexported(Burst{})); d != "" {
			t.Fatal(d)
		}
		for _, s := range []*Summary{whole, parts} {
			if kept := len(s.classes[1].bursts); kept != min(n, maxBursts>>fewer) || kept+int(s.other.Bursts) != total {
				t.Fatalf("%d kept and %d left out of %d", kept, s.other.Bursts, total)
			}
		}
	})
}

// TestManyEdges wants no burst lost where many may go on elsewhere.
func TestManyEdges(t *testing.T) {
	s := &Summary{from: logStart.UnixNano(), to: logStart.Add(time.Hour).UnixNano(), timed: 1}
	c := &class{hash: 1}
	s.classes = map[uint64]*class{1: c}
	const more = 100
	for i := range maxEdges + more {
		at := logStart.Add(time.Minute).UnixNano() // neither end
		if i < maxEdges/2 {
			at = logStart.UnixNano()
		}
		r := run{text: uint64(i), class: c, first: at, last: at, end: at, n: 3, starts: slices.Repeat([]interval{{at, at}}, 3)}
		s.runs.edges = append(s.runs.edges, r)
	}
	s.settle()
	if got, want := len(c.bursts), min(maxEdges/2+more, maxBursts); got != want || len(s.runs.edges) != maxEdges/2 {
		t.Errorf("%d bursts, want %d; %d edges, want %d", got, want, len(s.runs.edges), maxEdges/2)
	}
}
