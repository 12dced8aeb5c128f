package querylog

import (
	"math/rand/v2"
	"testing"
)

// TestEven tells a batch that every client runs from load that is balanced well.
func TestEven(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	for _, n := range []int{24, 240, 2400, 40_000} {
		const clients, teeth = 12, 24
		same, balanced := 0, 0
		for range teeth {
			batch, load := crowd{byHost: map[hostID]uint64{}}, crowd{byHost: map[hostID]uint64{}}
			for i := range n {
				batch.byHost[hostID(i%clients)]++
				load.byHost[hostID(r.IntN(clients))]++
			}
			if batch.even() {
				same++
			}
			if load.even() {
				balanced++
			}
		}
		if same != teeth || balanced > 0 {
			t.Errorf("%d statements: even in %d and %d of %d teeth", n, same, balanced, teeth)
		}
	}
	if (&crowd{byHost: map[hostID]uint64{1: 50}}).even() {
		t.Error("one client is even with itself")
	}
}
