package querylog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestFoldKeepsFrequent mixes statements that each make more than one in a
// thousand of the log into a flood of shapes that come once or twice, in
// places that favour nobody, and wants all of them to survive with the right
// counts, read as a whole and merged from parts.
func TestFoldKeepsFrequent(t *testing.T) {
	const frequent, rare = 60, 5 * maxClasses
	r := rand.New(rand.NewPCG(41, 42))
	var queries []string
	for i := range rare {
		for range 1 + r.IntN(2) {
			queries = append(queries, fmt.Sprintf("SELECT c%d FROM rare WHERE id = %d", i, r.IntN(1000)))
		}
	}
	want := map[string]uint64{}
	for i := range frequent {
		shape := fmt.Sprintf("select a from frequent_%c%c where id = ?", 'a'+i/26, 'a'+i%26)
		for range len(queries) / 900 { // more than 0.1 % of all
			queries = append(queries, fmt.Sprintf("SELECT a FROM frequent_%c%c WHERE id = %d", 'a'+i/26, 'a'+i%26, r.IntN(1000)))
			want[shape]++
		}
	}
	r.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
	count := func(list []string) *Summary {
		s := &Summary{}
		for i, q := range list {
			s.Add(&Event{Time: logStart.Add(time.Duration(i) * time.Millisecond), Query: []byte(q), Has: HasTime})
		}
		return s
	}
	for _, parts := range []int{1, 3} {
		s := &Summary{}
		for k := range parts {
			s.Merge(count(queries[k*len(queries)/parts : (k+1)*len(queries)/parts]))
		}
		got, kept := map[string]uint64{}, s.other.Events
		for _, c := range s.classes {
			got[c.shape] = c.n
			kept += c.n
		}
		for shape, n := range want {
			if float64(n) < 0.001*float64(len(queries)) {
				t.Fatalf("only %d of %d", n, len(queries))
			}
			if got[shape] != n {
				t.Errorf("%d parts: %d of %s, want %d", parts, got[shape], shape, n)
			}
		}
		if kept != uint64(len(queries)) || s.gone.len() == 0 {
			t.Errorf("%d parts: %d statements are accounted for of %d; %d classes were folded", parts, kept, len(queries), s.gone.len())
		}
	}
}

// TestFoldedShapes wants every shape that was folded known as such, and about
// as many counted as there were, however often each came again.
func TestFoldedShapes(t *testing.T) {
	s := &Summary{}
	const shapes = 3 * maxClasses
	for i := range 4 * shapes {
		e := Event{Time: logStart.Add(time.Duration(i) * time.Millisecond), Query: fmt.Appendf(nil, "SELECT c%d FROM t WHERE id = 7", i%shapes), Has: HasTime}
		s.Add(&e)
		if c := s.classes[e.Shape]; c.partial != s.gone.has(e.Shape) {
			t.Fatalf("statement %d: partial %v", i, c.partial)
		}
	}
	if n := s.gone.len(); n > shapes*102/100 || n < maxClasses {
		t.Errorf("about %d shapes were folded of %d", n, shapes)
	}
	other := &Summary{}
	e := Event{Time: logStart, Query: []byte("SELECT new FROM t"), Has: HasTime}
	other.Add(&e)
	for hash := range s.classes {
		if s.gone.has(hash) {
			other.classes[hash] = &class{hash: hash}
			delete(s.classes, hash)
			break
		}
	}
	other.Merge(s)
	for hash, c := range other.classes {
		if c.partial != s.gone.has(hash) {
			t.Errorf("%s: partial %v after a merge", c.shape, c.partial)
		}
	}
}

// TestLongShapes bounds the memory of statements that are long and all different.
func TestLongShapes(t *testing.T) {
	s := &Summary{}
	for i := range 1000 {
		q := fmt.Appendf(nil, "SELECT c%d %s FROM t", i, strings.Repeat(", some_column", 3000))
		s.Add(&Event{Time: logStart.Add(time.Duration(i) * time.Second), Query: q, Has: HasTime})
	}
	held := 0
	for _, c := range s.classes {
		held += len(c.shape) + len(c.sample)
	}
	if held > maxText || s.gone.len() == 0 {
		t.Errorf("%d bytes are held, about %d shapes were folded", held, s.gone.len())
	}
}
