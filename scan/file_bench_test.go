package scan_test

import (
	"bytes"
	"fmt"
	"os"
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
