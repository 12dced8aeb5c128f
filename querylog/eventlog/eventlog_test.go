package eventlog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

type got struct {
	NS        int64
	Key, Host string
}

// readAll reads every event and the lines that were skipped.
func readAll(t *testing.T, r *Reader) (events []got, skipped []int) {
	t.Helper()
	for {
		ev, err := r.Read()
		var bad *ParseError
		switch {
		case errors.As(err, &bad):
			skipped = append(skipped, bad.Line)
		case errors.Is(err, io.EOF):
			return events, skipped
		case err != nil:
			t.Fatal(err)
		default:
			events = append(events, got{ev.UnixNano, string(ev.Key), string(ev.Host)})
		}
	}
}

func TestReader(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const s = int64(time.Second)
	for _, c := range []struct {
		name, in, layout string
		resolution       time.Duration
		want             []got
		skipped          []int
	}{
		{"unix seconds", "1700000000\n1700000001\n", "times", time.Second, []got{{NS: 1700000000 * s}, {NS: 1700000001 * s}}, nil},
		{"zero fractions are whole seconds", "1700000000.000000\n", "times", time.Second, []got{{NS: 1700000000 * s}}, nil},
		{"microseconds, exact", "1700000000.123457\n", "times", time.Microsecond, []got{{NS: 1700000000123457000}}, nil},
		{"negative", "-1.5\n", "times", 100 * time.Millisecond, []got{{NS: -1500000000}}, nil},
		{"milliseconds", "1700000000123\n", "times", time.Millisecond, []got{{NS: 1700000000123000000}}, nil},
		{"nanoseconds", "1700000000123456789\n", "times", time.Nanosecond, []got{{NS: 1700000000123456789}}, nil},
		{"exponent", "1.7e9\n", "times", time.Second, []got{{NS: 1700000000 * s}}, nil},
		{"no newline at the end, CRLF, BOM, blank and comment lines", "\ufeff# times\r\n\r\n1700000000\r\n1700000001", "times", time.Second, []got{{NS: 1700000000 * s}, {NS: 1700000001 * s}}, nil},
		{"bad lines", "1700000000\nNaN\nInf\n1e400\nwhat\n99999999999999999999\n1700000001\n", "times", time.Second, []got{{NS: 1700000000 * s}, {NS: 1700000001 * s}}, []int{2, 3, 4, 5, 6}},
		{"rfc 3339", "2026-11-03T10:00:04Z\n2026-11-03T11:00:04.5+01:00\n", "times", 100 * time.Millisecond, []got{{NS: 1793700004 * s}, {NS: 1793700004*s + s/2}}, nil},
		{"local time", "2026-11-03 11:00:04\n", "times", time.Second, []got{{NS: 1793700004 * s}}, nil},
		{
			"csv with header", "host,time,query\nweb1,1700000000,\"SELECT 1, 2\"\nweb2,oops,x\n", "csv", time.Second,
			[]got{{1700000000 * s, "SELECT 1, 2", "web1"}},
			[]int{3},
		},
		{"csv without header", "1700000000,GET /,web1\n", "csv", time.Second, []got{{1700000000 * s, "GET /", "web1"}}, nil},
		{"tsv", "start\tduration\tshape\thost\n1700000000.25\t0.1\tSELECT ?\tw1\n", "tsv", 10 * time.Millisecond, []got{{1700000000*s + s/4, "SELECT ?", "w1"}}, nil},
		{"a strange name of the time", "t0_epoch_s\tdur_ms\tkey\thost\n1700000000\t7\tcat:1\tw1\n", "tsv", time.Second, []got{{1700000000 * s, "cat:1", "w1"}}, nil},
		{
			"ndjson", `{"ts":1700000000,"path":"/a","ip":"1.2.3.4"}` + "\n" + `{"ts":` + "\n" + `{"time":"2026-11-03T10:00:04Z"}` + "\n", "ndjson", time.Second,
			[]got{{1700000000 * s, "/a", "1.2.3.4"}, {NS: 1793700004 * s}},
			[]int{2},
		},
		{
			"combined access log", `1.2.3.4 - bob [03/Nov/2026:11:00:04 +0100] "GET /a b?x=1 HTTP/1.1" 200 5 "-" "curl"` + "\n" + `::1 - - [03/Nov/2026:10:00:04 +0000] "\x16\x03" 400 0` + "\n", "access-log", time.Second,
			[]got{{1793700004 * s, "GET /a b", "1.2.3.4"}, {1793700004 * s, `\x16\x03`, "::1"}},
			nil,
		},
		{"a header only", "time,key\n", "csv", time.Second, nil, nil},
		{"nothing", "", "", time.Second, nil, nil},
		{"no event times at all", "hello\nworld\n", "", time.Second, nil, []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				r := NewReader(in, berlin)
				events, skipped := readAll(t, r)
				if diff := cmp.Diff(c.want, events); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(c.skipped, skipped); diff != "" {
					t.Errorf("skipped lines (-want +got):\n%s", diff)
				}
				if r.Layout() != c.layout || r.Resolution() != c.resolution {
					t.Errorf("layout %q, resolution %v; want %q, %v", r.Layout(), r.Resolution(), c.layout, c.resolution)
				}
			}
		})
	}
}

// A line beyond the limit is skipped as a whole, and the next one is read.
func TestLongLine(t *testing.T) {
	in := "1700000000\n" + strings.Repeat("x", 3<<20) + "\n1700000001\n"
	events, skipped := readAll(t, NewReader(strings.NewReader(in), time.UTC))
	if len(events) != 2 || len(skipped) != 1 || skipped[0] != 2 {
		t.Errorf("%d events, skipped lines %v; want 2 events and line 2 skipped", len(events), skipped)
	}
}

func TestOpenUnpacks(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("1700000000\n"))
	z.Close()
	path := filepath.Join(t.TempDir(), "times.gz")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if events, _ := readAll(t, NewReader(f, time.UTC)); len(events) != 1 {
		t.Errorf("%d events from a gzip file, want 1", len(events))
	}
	cut, err := Open("-", bytes.NewReader(b.Bytes()[:b.Len()-6]))
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	for r := NewReader(cut, time.UTC); ; {
		_, err := r.Read()
		if errors.Is(err, io.EOF) {
			t.Fatal("a truncated gzip file must not end like a whole one")
		}
		if err != nil {
			return
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("1700000000\n1.5\n"))
	f.Add([]byte("time,key\n1,\"a\n"))
	f.Add([]byte(`{"time":{"a":1}}`))
	f.Add([]byte(`a [03/Nov/2026:11:00:04 +0100] "`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in), time.UTC)
		for range len(in) + 2 {
			_, err := r.Read()
			var bad *ParseError
			if err != nil && !errors.As(err, &bad) {
				return
			}
		}
		t.Fatal("reader does not end")
	})
}

func BenchmarkTimes(b *testing.B) {
	in := bytes.Repeat([]byte("1700000000.123456\n"), 100_000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r := NewReader(bytes.NewReader(in), time.UTC)
		for {
			if _, err := r.Read(); err != nil {
				break
			}
		}
	}
}
