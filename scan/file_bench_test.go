package scan_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/scan"
)

// BenchmarkFile reads the file named by HERDSCAN_BENCH_FILE whole. Compare with cat of the same file.
func BenchmarkFile(b *testing.B) {
	path := os.Getenv("HERDSCAN_BENCH_FILE")
	if path == "" {
		b.Skip("HERDSCAN_BENCH_FILE names no file")
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		s := openFile(b, path, scan.FileOptions{})
		if err := s.Keys(b.Context(), func(*scan.Key) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKeyList parses a list of the columns of a scan.
func BenchmarkKeyList(b *testing.B) {
	var text bytes.Buffer
	text.WriteString("key\tpttl_ms\tserver_time_us\ttype\n")
	for i := range 100_000 {
		fmt.Fprintf(&text, "session:%d\t%d\t1800000000000000\tstring\n", i, i)
	}
	path := tempFile(b, text.Bytes())
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		s := openFile(b, path, scan.FileOptions{})
		if err := s.Keys(b.Context(), func(*scan.Key) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemcached lists the items of a real server; BenchmarkMemcachedRaw reads the same bytes without looking at
// them. The target is 1.3 times its time.
func BenchmarkMemcached(b *testing.B) {
	addr := benchMemcached(b)
	b.ResetTimer()
	for b.Loop() {
		n := 0
		m := openMemcached(b, addr, scan.MemcachedOptions{})
		if err := m.Keys(b.Context(), func(*scan.Key) error { n++; return nil }); err != nil || n == 0 {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkMemcachedRaw(b *testing.B) {
	addr := benchMemcached(b)
	b.ResetTimer()
	for b.Loop() {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.WriteString(conn, "lru_crawler metadump all\r\n")
		buf := make([]byte, 64<<10)
		for tail := ""; !strings.HasSuffix(tail, "END\r\n"); {
			n, err := conn.Read(buf)
			if err != nil {
				b.Fatal(err)
			}
			tail = string(buf[max(0, n-5):n])
		}
		_ = conn.Close()
	}
}

// benchMemcached starts a server with HERDSCAN_BENCH_ITEMS items, 100,000 by default.
func benchMemcached(b *testing.B) string {
	b.Helper()
	items, err := strconv.Atoi(os.Getenv("HERDSCAN_BENCH_ITEMS"))
	if err != nil {
		items = 100_000
	}
	addr := startMemcached(b, "-m", "1024")
	var text strings.Builder
	for i := range items {
		fmt.Fprintf(&text, "set rate:10.%d.%d.%d:%d 0 %d 1 noreply\r\nx\r\n", i>>16&255, i>>8&255, i&255, i, 10_000+i%3600)
	}
	text.WriteString("version\r\n")
	ask(b, addr, text.String(), 1)
	return addr
}
