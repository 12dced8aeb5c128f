package querylog

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSummarise counts the log named by HERDSCAN_BENCH_LOG.
func BenchmarkSummarise(b *testing.B) {
	path := os.Getenv("HERDSCAN_BENCH_LOG")
	st, err := os.Stat(path)
	if err != nil {
		b.Skip("HERDSCAN_BENCH_LOG names no log")
	}
	b.SetBytes(st.Size())
	for b.Loop() {
		c := cpuTime()
		s, err := Summarise(context.Background(), []Source{FileSource(path)}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((cpuTime() - c).Seconds(), "cpu-s/op")
		b.ReportMetric(float64(len(s.classes)), "classes")
		b.ReportMetric(float64(s.Statements()), "statements")
	}
}
