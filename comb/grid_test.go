package comb

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestCoarser holds a coarser level against counts by half the number of the bin.
func TestCoarser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := grid{w: 1, n: 1000}
		want := map[int32]float64{}
		for x := int32(0); x < base.n; x += int32(rapid.IntRange(1, 5).Draw(t, "step")) {
			c := float64(rapid.IntRange(0, 3).Draw(t, "events"))
			base.push(x, c)
			if c > 0 {
				want[x/4] += c
			}
		}
		var m workshop
		g := m.coarser(m.coarser(&base, 0), 1)
		got := map[int32]float64{}
		for i, x := range g.x {
			got[x] = g.c[i]
		}
		if len(got) != len(g.x) || !maps.Equal(got, want) {
			t.Fatalf("got %v of %v in %v, want %v", g.c, g.x, base.x, want)
		}
	})
}
