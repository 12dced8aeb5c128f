package scan_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/scantest"
)

// tempFile writes a file with a fixed modification time.
func tempFile(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, modTime, modTime); err != nil {
		t.Fatal(err)
	}
	return path
}

var modTime = time.Unix(1_800_000_000, 0)

func openFile(t testing.TB, path string, o scan.FileOptions) *scan.FileSource {
	t.Helper()
	s, err := scan.OpenFile(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readFile reads content to its end and returns copies of the keys.
func readFile(t testing.TB, content []byte, o scan.FileOptions) ([]scan.Key, scan.Coverage, error) {
	t.Helper()
	return drain(t, openFile(t, tempFile(t, content), o))
}

func drain(t testing.TB, s *scan.FileSource) ([]scan.Key, scan.Coverage, error) {
	t.Helper()
	var got []scan.Key
	err := s.Keys(t.Context(), func(k *scan.Key) error {
		got = append(got, k.Clone())
		return nil
	})
	return got, s.Coverage()[0], err
}

// rdbHead is the start of a dump of version 10, written at the given second.
func rdbHead(ctime int64) []byte {
	sec := strconv.FormatInt(ctime, 10)
	b := append([]byte("REDIS0010\xfa\x05ctime"), byte(len(sec)))
	return append(append(b, sec...), 0xfe, 0)
}

// rdbKey is a string key with an expiry in Unix milliseconds, 0 for none.
func rdbKey(name string, ms int64) []byte {
	var b []byte
	if ms != 0 {
		b = append(b, 252)
		for shift := 0; shift < 64; shift += 8 {
			b = append(b, byte(ms>>shift))
		}
	}
	b = append(b, 0, byte(len(name)))
	return append(append(b, name...), 1, 'v')
}

// rdbEnd closes a dump without a checksum.
func rdbEnd() []byte { return append([]byte{255}, make([]byte, 8)...) }

const ctime = 1_800_000_000

func smallDump() []byte {
	return bytes.Join([][]byte{
		rdbHead(ctime), rdbKey("a", ctime*1000+5), rdbKey("b", 0), rdbKey("old", ctime*1000-1), rdbEnd(),
	}, nil)
}

var smallKeys = []scan.Key{
	{Name: []byte("a"), ExpireMS: ctime*1000 + 5, Type: "string"},
	{Name: []byte("b"), ExpireMS: scan.NoExpiry, Type: "string"},
}

func gzipped(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstded(t testing.TB, b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(b, nil)
}

// TestFileRDB reads a dump in each form in which it may come.
func TestFileRDB(t *testing.T) {
	dump := smallDump()
	mark := strings.Repeat("f", 40)
	join := func(parts ...string) []byte { return []byte(strings.Join(parts, "")) }
	for name, content := range map[string][]byte{
		"plain":              dump,
		"gzip":               gzipped(t, dump),
		"zstd":               zstded(t, dump),
		"replication":        join(fmt.Sprintf("$%d\r\n", len(dump)), string(dump), "*1\r\n$4\r\nPING\r\n"),
		"diskless":           join("+FULLRESYNC ", mark, " 1\r\n\n\n$EOF:", mark, "\r\n", string(dump), mark),
		"AOF with preamble":  join(string(dump), "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n"),
		"gzip of a preamble": gzipped(t, join(string(dump), "*1\r\n$4\r\nPING\r\n")),
	} {
		t.Run(name, func(t *testing.T) {
			path := tempFile(t, content)
			scantest.TestSource(t, openFile(t, path, scan.FileOptions{}), smallKeys)
			s := openFile(t, path, scan.FileOptions{})
			_, c, err := drain(t, s)
			if err != nil || !c.Complete || c.Read != 2 || c.Expired != 1 || c.Total != 2 {
				t.Errorf("error %v, coverage %+v", err, c)
			}
			if now, ok := s.Now(); !ok || now.Unix() != ctime {
				t.Errorf("Now = %v, %v", now, ok)
			}
			if info := s.Info(); info.Kind != "redis" || info.Now.Unix() != ctime {
				t.Errorf("Info = %+v", info)
			}
			aof := strings.Contains(name, "preamble")
			if got := strings.Contains(strings.Join(c.Notes, " "), "append-only"); got != aof {
				t.Errorf("notes = %q", c.Notes)
			}
		})
		t.Run(name+" on standard input", func(t *testing.T) {
			scantest.TestSource(t, nil, smallKeys, scantest.Reopen(func(t *testing.T) scan.Source {
				return openFile(t, "-", scan.FileOptions{Stdin: iotest.HalfReader(bytes.NewReader(content))})
			}))
		})
	}
}

// TestFileNow judges an old dump as of a given time.
func TestFileNow(t *testing.T) {
	now := time.UnixMilli(ctime*1000 + 5)
	got, c, err := readFile(t, smallDump(), scan.FileOptions{Now: now})
	if err != nil || len(got) != 1 || c.Expired != 2 {
		t.Errorf("%d keys, error %v, coverage %+v", len(got), err, c)
	}
	// A dump of version 2 does not say when it was written.
	old := append([]byte("REDIS0002\xfe\x00"), rdbKey("a", ctime*1000+1)...)
	s := openFile(t, tempFile(t, append(old, 255)), scan.FileOptions{})
	_, c, err = drain(t, s)
	if now, ok := s.Now(); !ok || !now.Equal(modTime) || err != nil || c.Read != 1 {
		t.Errorf("Now = %v, error %v, coverage %+v", now, err, c)
	}
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "2027-01-15T08:00:00Z") {
		t.Errorf("notes = %q", c.Notes)
	}
	if s.Resolution() != time.Second || s.Kind() != "rdb" {
		t.Errorf("resolution %v, kind %s", s.Resolution(), s.Kind())
	}
}

// TestFilePartial yields what precedes the damage.
func TestFilePartial(t *testing.T) {
	dump := smallDump()
	long := rdbHead(ctime)
	for i := range 20_000 {
		long = append(long, rdbKey(fmt.Sprintf("%x", i*i*i), 0)...)
	}
	packed := gzipped(t, long)
	var list bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&list, "key=%x exp=1800000000 la=1799999999 cas=1 fetch=no cls=1 size=60\n", i*i*i)
	}
	packedList := gzipped(t, list.Bytes())
	for name, c := range map[string]struct {
		content []byte
		keys    int
		want    string
	}{
		"cut":          {dump[:len(dump)-12], 2, "cut off (at byte "},
		"unknown type": {append(bytes.Clone(dump[:len(dump)-9]), 99, 1, 'x'), 2, "unknown type 99"},
		"gzip cut":     {packed[:len(packed)/2], 0, "cut off"},
		"gzip list":    {packedList[:len(packedList)/2], 0, "compressed file is cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			got, cov, err := readFile(t, c.content, scan.FileOptions{})
			if c.keys == 0 { // as many as half the bytes hold
				c.keys = len(got)
			}
			if len(got) != c.keys || len(got) == 0 || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d keys, error %v", len(got), err)
			}
			if cov.Complete || len(cov.Errors) != 1 || cov.Read != uint64(c.keys) {
				t.Errorf("coverage %+v", cov)
			}
		})
	}
}

// TestFileUnreadable says what a file is instead of a list of keys.
func TestFileUnreadable(t *testing.T) {
	tar := make([]byte, 1024)
	copy(tar, "dump.rdb")
	copy(tar[257:], "ustar\x0000")
	for _, c := range []struct{ name, content, want string }{
		{"empty", "", "the file is empty (0 bytes)"},
		{"empty gzip", string(gzipped(t, nil)), "the file is empty (0 bytes)"},
		{"AOF", "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n", "append-only file without an RDB part"},
		{"AOF with time", "#TS:1800000000\r\n*1\r\n$4\r\nPING\r\n", "append-only file without an RDB part"},
		{"garbage", "\x00\x01\x02\x03", "not a dump that herdscan knows"},
		{"damaged gzip", "\x1f\x8b\x00", "gzip: "},
		{"damaged zstd", "\x28\xb5\x2f\xfdxx", "zstd: "},
		{"damaged magic", "REDISxxxx", "no version after the magic"},
		{"Valkey envelope", "VKCS\x01\x01\x00\x00", "Valkey's compressed envelope"},
		{"zip", "PK\x03\x04....", "a zip archive"},
		{"tar", string(tar), "a tar archive"},
		{"xz", "\xfd7zXZ\x00", "xz -dc"},
		{"lz4", "\x04\x22\x4d\x18", "lz4 -dc"},
		{"mgdump", "mg foo\r\nmg bar\r\n", "has keys only"},
		{"text", "Hello, world\n", "no columns for the key and its expiry"},
		{"words", "hello\nworld\n", "its first line has one column"},
		{"JSON array", `[{"key":"a","ttl":5}]`, "a JSON array"},
		{"JSON without keys", `{"hello":"world"}`, "no object has fields"},
		{"blank", "\n\n\r\n", "no line with text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := scan.OpenFile(t.Context(), tempFile(t, []byte(c.content)), scan.FileOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
	if _, err := scan.OpenFile(t.Context(), t.TempDir(), scan.FileOptions{}); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := scan.OpenFile(t.Context(), filepath.Join(t.TempDir(), "missing"), scan.FileOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v, want ErrNotExist", err)
	}
}

// TestFileSlowStream ends when the context does, though the stream says nothing.
func TestFileSlowStream(t *testing.T) {
	for name, content := range map[string][]byte{
		"nothing": nil, "head": rdbHead(ctime), "list": []byte("key,ttl_ms,now\n"),
	} {
		t.Run(name, func(t *testing.T) {
			pr, pw := io.Pipe()
			defer pr.Close()
			go pw.Write(append(content, bytes.Repeat([]byte("a,5,1800000000\n"), 100)...)[:len(content)])
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			s, err := scan.OpenFile(ctx, "-", scan.FileOptions{Stdin: pr})
			if err == nil {
				err = s.Keys(ctx, func(*scan.Key) error { return nil })
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want context.Canceled", err)
			}
		})
	}
}

// TestFileOpenStream reads a dump from a stream that stays open behind it, as a master's does.
func TestFileOpenStream(t *testing.T) {
	pr, pw := io.Pipe()
	defer pr.Close()
	dump := smallDump()
	go pw.Write(append([]byte(fmt.Sprintf("$%d\r\n", len(dump))), dump...))
	got, c, err := drain(t, openFile(t, "-", scan.FileOptions{Stdin: pr}))
	if err != nil || len(got) != 2 || !c.Complete {
		t.Errorf("%d keys, error %v, coverage %+v", len(got), err, c)
	}
}

func TestFileReadOnce(t *testing.T) {
	s := openFile(t, "-", scan.FileOptions{Stdin: bytes.NewReader(smallDump())})
	if _, _, err := drain(t, s); err != nil {
		t.Fatal(err)
	}
	if _, _, err := drain(t, s); err == nil || err.Error() != "standard input: can be read only once" {
		t.Errorf("error = %v", err)
	}
}

// TestFileMetadump reads the saved answer of memcached.
func TestFileMetadump(t *testing.T) {
	const text = "key=a%3A1%20x exp=1800000300 la=1800000000 cas=1 fetch=no cls=1 size=83\r\n" +
		"key=read exp=1800000300 la=1800000005 cas=2 fetch=yes cls=1 size=83 flags=0 new=field\r\n" +
		"key=forever exp=-1 la=1800000000 cas=3 fetch=no cls=1 size=83\r\n" +
		"key=gone exp=1800000005 la=1799990000 cas=3 fetch=no cls=1 size=83\r\n" +
		"key=bad%zz exp=5 la=5\r\n" +
		"garbage\r\n" +
		"END\r\n"
	want := []scan.Key{
		{Name: []byte("a:1 x"), ExpireMS: 1800000300000, TTL: 300 * time.Second},
		{Name: []byte("read"), ExpireMS: 1800000300000},
		{Name: []byte("forever"), ExpireMS: scan.NoExpiry},
	}
	path := tempFile(t, []byte(text))
	scantest.TestSource(t, openFile(t, path, scan.FileOptions{}), want)
	s := openFile(t, path, scan.FileOptions{})
	if now, ok := s.Now(); !ok || now.Unix() != 1800000005 {
		t.Errorf("Now = %v, %v, want the newest access", now, ok)
	}
	_, c, err := drain(t, s)
	if err != nil || c.Read != 3 || c.Expired != 1 || c.Skipped != 2 || !c.Complete || len(c.Notes) != 0 {
		t.Errorf("error %v, coverage %+v", err, c)
	}
	if len(c.Errors) != 2 || c.Errors[0].Error() != "line 5: not a line of a metadump: no key=, no exp= or a damaged field" {
		t.Errorf("errors %v", c.Errors)
	}
	// A last line without an end counts only if its times can't be cut off.
	for tail, read := range map[string]uint64{"key=x exp=1800000300 la=18": 3, "key=x exp=1800000300 la=1800000000 size=8": 4} {
		if _, c, _ := readFile(t, []byte(text+tail), scan.FileOptions{}); c.Read != read {
			t.Errorf("%d keys with %q at the end", c.Read, tail)
		}
	}
	_, c, err = readFile(t, []byte(strings.TrimSuffix(text, "END\r\n")), scan.FileOptions{})
	if err != nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "no END line") {
		t.Errorf("error %v, notes %q", err, c.Notes)
	}
}

// TestFileLabList reads each recorded list and dump of one instant and checks that they agree.
func TestFileLabList(t *testing.T) {
	dumps, _ := filepath.Glob("../../shared/lab/*/dump.rdb")
	if len(dumps) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no records in ../shared/lab")
		}
		t.Skip("no records in ../shared/lab")
	}
	for _, path := range dumps {
		dir := filepath.Dir(path)
		list, c, err := drain(t, openFile(t, filepath.Join(dir, "keys.tsv"), scan.FileOptions{}))
		if err != nil || c.Skipped != 0 || !c.Complete || len(c.Notes) != 0 {
			t.Errorf("%s: error %v, coverage %+v", dir, err, c)
		}
		dump, c, err := drain(t, openFile(t, path, scan.FileOptions{}))
		if err != nil || !c.Complete {
			t.Errorf("%s: error %v, coverage %+v", dir, err, c)
		}
		at := map[string]scan.Key{}
		for _, k := range dump {
			at[string(k.Name)] = k
		}
		missing := 0
		for _, k := range list {
			d, ok := at[string(k.Name)]
			if !ok {
				missing++
				continue
			}
			if diff := d.ExpireMS - k.ExpireMS; diff < 0 || diff > 50 || d.Type != k.Type {
				t.Fatalf("%s: key %q: dump %+v, list %+v", dir, k.Name, d, k)
			}
		}
		// The list escapes its one binary key.
		if missing > 1 || len(dump) < len(list) {
			t.Errorf("%s: %d of %d listed keys are not in the dump with %d", dir, missing, len(list), len(dump))
		}
	}
}

// TestFileLabMetadump compares a recorded metadump with the server's own count.
func TestFileLabMetadump(t *testing.T) {
	paths, _ := filepath.Glob("../../shared/lab/*/memcached_metadump.txt")
	if len(paths) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no records in ../shared/lab")
		}
		t.Skip("no records in ../shared/lab")
	}
	for _, path := range paths {
		got, c, err := drain(t, openFile(t, path, scan.FileOptions{}))
		if err != nil || c.Skipped != 0 || len(c.Notes) != 0 {
			t.Errorf("%s: error %v, coverage %+v", path, err, c)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("key=")); len(got)+int(c.Expired) != lines {
			t.Errorf("%s: %d keys of %d lines", path, len(got), lines)
		}
		for _, k := range got {
			if !strings.Contains(string(k.Name), ":") {
				t.Errorf("%s: key %q is not decoded", path, k.Name)
			}
		}
	}
}
