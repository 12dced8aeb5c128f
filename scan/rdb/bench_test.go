package rdb_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/herdscan/herdscan/scan/rdb"
)

// BenchmarkReader reads the dump named by HERDSCAN_BENCH_RDB, or one made
// here. Compare with BenchmarkCat: the target is 8 times its time.
func BenchmarkReader(b *testing.B) {
	for name, o := range map[string]rdb.Options{"checksum": {}, "nochecksum": {SkipChecksum: true}} {
		b.Run(name, func(b *testing.B) {
			path := benchDump(b)
			keys := 0
			for b.Loop() {
				keys = countKeys(b, path, o)
			}
			b.ReportMetric(float64(keys)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mkeys/s")
		})
	}
}

// BenchmarkCat is what reading the same file without looking at it costs.
func BenchmarkCat(b *testing.B) {
	path := benchDump(b)
	buf := make([]byte, 128<<10)
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = f.Read(buf)
		}
		f.Close()
	}
}

func countKeys(b *testing.B, path string, o rdb.Options) (n int) {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	r, err := rdb.NewReader(f, o)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var e rdb.Entry
	for {
		err := r.Next(&e)
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func benchDump(b *testing.B) string {
	b.Helper()
	path := os.Getenv("HERDSCAN_BENCH_RDB")
	if path == "" {
		b.Skip("HERDSCAN_BENCH_RDB names no dump")
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	return path
}
