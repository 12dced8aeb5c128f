//go:build unix

package scan_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/scan"
)

// BenchmarkMemcached lists the items of a real server in turns with a client that reads the same bytes into nothing,
// as nc does. The target is 1.3 times its time.
func BenchmarkMemcached(b *testing.B) {
	addr, items := benchMemcached(b)
	inTurns(b,
		&way{name: "raw", do: func(t testing.TB) { rawMetadump(t, addr) }},
		&way{name: "keys", do: func(t testing.TB) {
			n := 0
			m := openMemcached(t, addr, scan.MemcachedOptions{})
			if err := m.Keys(t.Context(), func(*scan.Key) error { n++; return nil }); err != nil || n < items-items/100 { // the walk of a living cache
				t.Fatalf("%d keys of %d, %v", n, items, err)
			}
		}})
}

func rawMetadump(t testing.TB, addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "lru_crawler metadump all\r\n")
	buf := make([]byte, 64<<10)
	for tail := ""; !strings.HasSuffix(tail, "END\r\n"); {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		tail = string(buf[max(0, n-5):n])
	}
}

// benchMemcached starts a server with HERDSCAN_BENCH_ITEMS items, a million by default.
func benchMemcached(b *testing.B) (addr string, items int) {
	b.Helper()
	items, err := strconv.Atoi(os.Getenv("HERDSCAN_BENCH_ITEMS"))
	if err != nil {
		items = 1_000_000
	}
	addr = startMemcached(b, "-m", "1024")
	var text strings.Builder
	for i := range items {
		fmt.Fprintf(&text, "set rate:10.%d.%d.%d:%d 0 %d 1 noreply\r\nx\r\n", i>>16&255, i>>8&255, i&255, i, 10_000+i%3600)
	}
	text.WriteString("version\r\n")
	ask(b, addr, text.String(), 1)
	return addr, items
}
