package querylog

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// benchLog writes six hours of traffic with a stampede each ten minutes, some
// 70 MB of slow log and 30 MB of general log.
func benchLog(b *testing.B, write func([]planted) string) string {
	b.Helper()
	const span = 6 * time.Hour
	r := rand.New(rand.NewPCG(71, 72))
	events := background(r, 12, span)
	every(10*time.Minute, 137*time.Second, span, func(_ int, at time.Duration) {
		for range 400 {
			events = append(events, planted{at: at + ms(r, 1200), took: 3 * time.Millisecond, query: "SELECT * FROM rates WHERE base = 'EUR'", host: r.IntN(4), thread: 100 + r.IntN(400), sent: 1})
		}
	})
	path := filepath.Join(b.TempDir(), "query.log")
	if err := os.WriteFile(path, []byte(write(events)), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// cpuTime returns the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cost is what one run took.
type cost struct{ cpu, wall time.Duration }

// least measures f three times and returns the least of each: what other
// work on the machine adds is no cost of f.
func least(f func() cost) cost {
	out := f()
	for range 2 {
		c := f()
		out.cpu, out.wall = min(out.cpu, c.cpu), min(out.wall, c.wall)
	}
	return out
}

// command measures another program. It skips the benchmark when there is none.
func command(b *testing.B, name string, args ...string) cost {
	b.Helper()
	if _, err := exec.LookPath(name); err != nil {
		b.Skip(name + " is not installed")
	}
	return least(func() cost {
		start := time.Now()
		c := exec.Command(name, args...)
		if err := c.Run(); err != nil {
			b.Fatal(name, err)
		}
		return cost{c.ProcessState.UserTime() + c.ProcessState.SystemTime(), time.Since(start)}
	})
}

// summariseCost measures reading and, separately, the analysis.
func summariseCost(b *testing.B, path string, workers int) (read, analysis cost) {
	b.Helper()
	analysis.cpu = time.Hour
	read = least(func() cost {
		c, start := cpuTime(), time.Now()
		s, err := Summarise(context.Background(), []Source{FileSource(path)}, Options{Workers: workers})
		if err != nil {
			b.Fatal(err)
		}
		out := cost{cpuTime() - c, time.Since(start)}
		c = cpuTime()
		if len(Analyse(s, AnalyseOptions{}).Findings) == 0 {
			b.Fatal("nothing found")
		}
		analysis.cpu = min(analysis.cpu, cpuTime()-c)
		return out
	})
	return read, analysis
}

func size(b *testing.B, path string) float64 {
	b.Helper()
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return float64(st.Size())
}

// BenchmarkRead compares reading and analysis with wc -l.
func BenchmarkRead(b *testing.B) {
	for name, write := range map[string]func([]planted) string{"slow": slowLog, "general": generalLog} {
		b.Run(name, func(b *testing.B) {
			path := benchLog(b, write)
			b.ResetTimer()
			for b.Loop() {
				wc := command(b, "wc", "-l", path)
				read, analysis := summariseCost(b, path, 0)
				all := read.cpu + analysis.cpu
				b.ReportMetric(size(b, path)/1e6/all.Seconds(), "MB/cpu-s")
				b.ReportMetric(all.Seconds()/max(wc.cpu.Seconds(), 1e-3), "x-wc")
				b.ReportMetric(100*analysis.cpu.Seconds()/all.Seconds(), "%-analysis")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkWorkers compares the wall time of two parsers with that of one.
func BenchmarkWorkers(b *testing.B) {
	path := benchLog(b, slowLog)
	b.ResetTimer()
	for b.Loop() {
		one, _ := summariseCost(b, path, 1)
		two, _ := summariseCost(b, path, 2)
		b.ReportMetric(two.wall.Seconds()/one.wall.Seconds(), "two/one-wall")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGzip compares a packed log with gzip -dc.
func BenchmarkGzip(b *testing.B) {
	plain, err := os.ReadFile(benchLog(b, slowLog))
	if err != nil {
		b.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(plain)
	_ = z.Close()
	path := filepath.Join(b.TempDir(), "query.log.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		unpack := command(b, "gzip", "-dc", path)
		read, _ := summariseCost(b, path, 0)
		b.ReportMetric(read.wall.Seconds()/unpack.wall.Seconds(), "x-gzip-wall")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPtQueryDigest compares the processor time with that of pt-query-digest.
func BenchmarkPtQueryDigest(b *testing.B) {
	path := benchLog(b, slowLog)
	b.ResetTimer()
	for b.Loop() {
		if _, err := exec.LookPath("pt-query-digest"); err != nil {
			b.Skip("pt-query-digest is not installed")
		}
		pt := exec.Command("pt-query-digest", path)
		pt.Stdout = io.Discard
		if err := pt.Run(); err != nil {
			b.Fatal(err)
		}
		read, analysis := summariseCost(b, path, 0)
		took := pt.ProcessState.UserTime() + pt.ProcessState.SystemTime()
		b.ReportMetric(took.Seconds()/(read.cpu+analysis.cpu).Seconds(), "pt/herdscan-cpu")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkMemory reports the peak resident memory of reading and analysis.
func BenchmarkMemory(b *testing.B) {
	path := benchLog(b, slowLog)
	b.ResetTimer()
	for b.Loop() {
		debug.FreeOSMemory()                                                              // what made the log is not to count
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil { // resets the peak
			b.Skip("no peak of memory to be had:", err)
		}
		summariseCost(b, path, 0)
		b.ReportMetric(peakMiB(b), "peak-MiB")
	}
	b.ReportMetric(0, "ns/op")
}

// peakMiB returns the peak resident memory of this process.
func peakMiB(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kb, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				b.Fatal(fmt.Errorf("VmHWM: %w", err))
			}
			return kb / 1024
		}
	}
	b.Skip("the system tells no peak of memory")
	return 0
}
