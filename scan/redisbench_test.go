package scan_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
)

const benchKeys = 500_000

// BenchmarkRedis reads the same keys in every way in turn, so that the ratios of one run mean something on a busy
// machine: ns/op of default, fast, bare (SCAN COUNT 1000 alone) and redis-cli --scan. server-ms/op is the server's
// CPU time; duty is that divided by the time of the scan.
func BenchmarkRedis(b *testing.B) {
	s := redistest.Start(b)
	fillBench(b, s)
	url := "redis://" + s.Addr
	for _, way := range []struct {
		name string
		read func(testing.TB) int
	}{
		{"bare", func(t testing.TB) int { return bareScan(t, s.Addr) }},
		{"fast", func(t testing.TB) int { return count(t, scan.Options{URL: url, Fast: true}) }},
		{"default", func(t testing.TB) int { return count(t, scan.Options{URL: url}) }},
		{"default-pttl", func(t testing.TB) int { return count(t, scan.Options{URL: url, PTTL: true}) }},
		{"redis-cli", func(t testing.TB) int { return cliScan(t, s.Port) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			before := serverCPU(b, s)
			for b.Loop() {
				if n := way.read(b); n != benchKeys {
					b.Fatalf("%d keys, want %d", n, benchKeys)
				}
			}
			used := serverCPU(b, s) - before
			b.ReportMetric(used.Seconds()*1000/float64(b.N), "server-ms/op")
			b.ReportMetric(used.Seconds()/b.Elapsed().Seconds(), "duty")
		})
	}
}

func fillBench(b *testing.B, s *redistest.Server) {
	b.Helper()
	s.Pipe(b, func(do func(...string)) {
		for i := range benchKeys {
			do("SET", fmt.Sprintf("product:%d:view", i), "v", "PXAT", strconv.FormatInt(farFuture+int64(i), 10))
		}
	})
}

func count(t testing.TB, o scan.Options) (n int) {
	t.Helper()
	r, err := scan.OpenRedis(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Keys(t.Context(), func(*scan.Key) error {
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func bareScan(t testing.TB, addr string) (n int) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(t.Context(), cursor, "", 1000).Result()
		if err != nil {
			t.Fatal(err)
		}
		n += len(keys)
		if cursor = next; cursor == 0 {
			return n
		}
	}
}

func cliScan(t testing.TB, port int) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), redistest.Binary(t, "redis-cli"), "-p", strconv.Itoa(port), "--scan").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(out), "\n")
}

func serverCPU(t testing.TB, s *redistest.Server) time.Duration {
	t.Helper()
	var sum float64
	for line := range strings.SplitSeq(s.Do(t, "INFO", "cpu"), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, _ := strconv.ParseFloat(value, 64)
			sum += seconds
		}
	}
	return time.Duration(sum * float64(time.Second))
}
