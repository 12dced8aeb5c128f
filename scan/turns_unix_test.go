//go:build unix

package scan_test

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// rounds is how often each way is measured. Medians are taken: other work on the machine only ever adds.
const rounds = 7

// A way is one of several ways to do the same, which are measured in turns so that their ratios mean something on a
// busy machine.
type way struct {
	name string
	do   func(testing.TB)
	wall []time.Duration
	cpu  []time.Duration // of this process
}

// inTurns measures the ways and reports the medians, and how often the first one's time the others take: the median of
// the ratios within a round.
func inTurns(b *testing.B, ways ...*way) {
	for b.Loop() {
		for range rounds {
			for _, w := range ways {
				w.measure(b)
			}
		}
	}
	first := ways[0]
	for _, w := range ways {
		b.ReportMetric(middle(w.wall).Seconds()*1000, w.name+"-ms")
		b.ReportMetric(middle(w.cpu).Seconds()*1000, w.name+"-client-cpu-ms")
		if w == first {
			continue
		}
		ratios := make([]float64, len(w.wall))
		for i := range ratios {
			ratios[i] = w.wall[i].Seconds() / first.wall[i].Seconds()
		}
		b.ReportMetric(middle(ratios), w.name+"/"+first.name)
	}
}

func (w *way) measure(t testing.TB) {
	began, used := time.Now(), clientCPU(t)
	w.do(t)
	w.wall = append(w.wall, time.Since(began))
	w.cpu = append(w.cpu, clientCPU(t)-used)
}

func middle[T time.Duration | float64](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

func clientCPU(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
