package ttlhist_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
	"github.com/herdscan/herdscan/ttlhist"
)

// TestSampleAgrees reads 5 million keys whole, from the dump that a real server
// was started with, and a sample of 5 % of them from that server: the verdicts
// are the same, and the sizes are within the error of the sample.
func TestSampleAgrees(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("5 million keys take too long")
	}
	const keys = 5_000_000
	redistest.Binary(t, "redis-server")
	dir := t.TempDir()
	now := time.Now().Truncate(time.Second)
	writeDump(t, filepath.Join(dir, "dump.rdb"), now, keys)

	file, err := scan.OpenFile(t.Context(), filepath.Join(dir, "dump.rdb"), scan.FileOptions{SkipChecksum: true})
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := file.Now()
	full := analyse(t, file, whole)

	server := redistest.Start(t, "--dir", dir)
	server.AwaitLoaded(t)
	if n := server.Do(t, "DBSIZE"); n != ":"+strconv.Itoa(keys) {
		t.Fatalf("%s keys on the server, want %d", n, keys)
	}
	live, err := scan.OpenRedis(t.Context(), scan.Options{URL: "redis://" + server.Addr, Sample: 0.05, Seed: 5, Duty: 1})
	if err != nil {
		t.Fatal(err)
	}
	sample := analyse(t, live, now)

	if sample.Sampled < 0.04 || sample.Sampled > 0.06 {
		t.Fatalf("the sample is %.3f of the keys, want 0.05", sample.Sampled)
	}
	want, got := verdicts(full), verdicts(sample)
	if want := slices.Sorted(maps.Keys(want)); !slices.Equal(want, slices.Sorted(maps.Keys(got))) {
		t.Fatalf("verdicts of the sample:\n%s\nof all keys:\n%s", strings.Join(slices.Sorted(maps.Keys(got)), "\n"), strings.Join(want, "\n"))
	}
	for _, planted := range []string{"HS401 page:*", "HS401 price:*:eu", "HS401 report:*", "HS402 lock:order:*"} {
		if _, ok := want[planted]; !ok {
			t.Errorf("%s was planted and not found", planted)
		}
	}
	for name, w := range want {
		g := got[name]
		size, off := float64(w.Count)*sample.Sampled, math.Abs(float64(g.Count)-float64(w.Count)*sample.Sampled)
		if off > 6*math.Sqrt(size)+0.02*size {
			t.Errorf("%s: %d keys of the sample, want about %.0f", name, g.Count, size)
		}
		if w.Herd == nil {
			continue
		}
		if len(g.Herd.Teeth) != len(w.Herd.Teeth) || (g.Herd.Spacing-w.Herd.Spacing).Abs() > w.Herd.Spacing/100 {
			t.Errorf("%s: %d teeth each %v, of all keys %d each %v", name, len(g.Herd.Teeth), g.Herd.Spacing, len(w.Herd.Teeth), w.Herd.Spacing)
		}
		if g.Herd.Base.TTL != w.Herd.Base.TTL {
			t.Errorf("%s: TTL %v, of all keys %v", name, g.Herd.Base.TTL, w.Herd.Base.TTL)
		}
	}
}

// verdicts are the findings by rule and subject.
func verdicts(a *ttlhist.Analysis) map[string]ttlhist.Finding {
	all := make(map[string]ttlhist.Finding)
	for _, f := range a.Findings {
		all[f.Rule+" "+f.Subject] = f
	}
	return all
}

// analyse reads a source as of a time.
func analyse(t *testing.T, src interface {
	scan.Source
	scan.Coverer
}, now time.Time,
) *ttlhist.Analysis {
	t.Helper()
	s := &ttlhist.Summary{}
	s.Begin(ttlhist.Source{Name: src.String(), Now: now, Resolution: time.Millisecond})
	feed := s.Feed()
	err := src.Keys(t.Context(), func(k *scan.Key) error { feed.Add(k); return nil })
	feed.Close()
	if err != nil {
		t.Fatal(err)
	}
	cov := src.Coverage()[0]
	s.End(ttlhist.Source{Name: src.String(), Now: now, Resolution: time.Millisecond, Read: cov.Read, Total: cov.Total, Sampled: cov.Sampled})
	return ttlhist.Analyse(s, ttlhist.Options{})
}

// writeDump writes an RDB file of version 10 with n keys in the proportions of
// a shop: pages warmed up together, prices written by a batch every 45 s, a
// small herd of reports, locks without a TTL, and healthy patterns around them.
func writeDump(t *testing.T, path string, now time.Time, n int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	_, _ = w.WriteString("REDIS0010\xfa\x05ctime")
	_, _ = w.Write(appendString(nil, strconv.FormatInt(now.Unix(), 10)))
	_, _ = w.WriteString("\xfe\x00")
	r := rand.New(rand.NewPCG(7, 11))
	const minute, hour = int64(60_000), int64(3_600_000)
	var name, record []byte
	for i := range n {
		left := int64(0)
		switch p := i % 250; {
		case p < 100:
			name = fmt.Appendf(name[:0], "session:%016x", r.Uint64())
			left = hour + r.Int64N(24*hour)
		case p < 140:
			name = fmt.Appendf(name[:0], "page:%d", i)
			left = 6*hour + r.Int64N(3000)
		case p < 180:
			name = fmt.Appendf(name[:0], "price:%d:eu", i)
			left = 30*minute + r.Int64N(20)*45_000 + r.Int64N(2000)
		case p < 220:
			name = fmt.Appendf(name[:0], "user:%d:profile", i)
			left = 10*minute + r.Int64N(4*hour)
		case p < 221:
			name = fmt.Appendf(name[:0], "report:%d", i)
			left = 2*hour + r.Int64N(1000)
		case p < 226:
			name = fmt.Appendf(name[:0], "report:%d", i)
			left = hour + r.Int64N(8*hour)
		case p < 238:
			name = fmt.Appendf(name[:0], "lock:order:%d", i)
		default:
			name = fmt.Appendf(name[:0], "followers:%d", i)
		}
		record = record[:0]
		if left > 0 {
			record = binary.LittleEndian.AppendUint64(append(record, 0xfc), uint64(now.UnixMilli()+left))
		}
		record = appendString(append(record, 0), string(name))
		_, _ = w.Write(append(record, "\x01x"...))
	}
	_, _ = w.WriteString("\xff" + strings.Repeat("\x00", 8)) // no checksum
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// appendString appends a string of less than 64 bytes as RDB has it.
func appendString(dst []byte, s string) []byte {
	return append(append(dst, byte(len(s))), s...)
}
