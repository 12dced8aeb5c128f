package rdb_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/scan/rdb"
)

// readAll reads every entry of a dump; keys are copied.
func readAll(t testing.TB, src io.Reader, o rdb.Options) (map[string]rdb.Entry, rdb.Info, error) {
	t.Helper()
	got := map[string]rdb.Entry{}
	r, err := rdb.NewReader(src, o)
	if r == nil {
		return got, rdb.Info{}, err
	}
	defer r.Close()
	var e rdb.Entry
	for {
		err := r.Next(&e)
		if errors.Is(err, io.EOF) {
			return got, r.Info(), nil
		}
		if err != nil {
			return got, r.Info(), err
		}
		name := strconv.Itoa(e.DB) + "/" + string(e.Key)
		if _, dup := got[name]; dup {
			t.Errorf("key %q read twice", e.Key)
		}
		c := e
		c.Key = nil
		got[name] = c
	}
}

// TestLab compares each recorded dump with the keys that the server listed in
// the same transaction.
func TestLab(t *testing.T) {
	dumps, _ := filepath.Glob("../../../shared/lab/*/dump.rdb")
	if len(dumps) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no recorded dumps in ../shared/lab")
		}
		t.Skip("no recorded dumps in ../shared/lab")
	}
	for _, path := range dumps {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) { compareLab(t, path) })
	}
}

// unescape undoes the escapes of the one binary key in the records.
var unescape = strings.NewReplacer(`\x00`, "\x00", `\xff`, "\xff", `\x01`, "\x01")

func compareLab(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, info, err := readAll(t, f, rdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Version != 10 || info.ServerVersion != "7.0.15" {
		t.Errorf("info = %+v", info)
	}
	keys, err := os.Open(filepath.Join(filepath.Dir(path), "keys.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	listed := map[string]bool{}
	var lags []int64
	for sc := bufio.NewScanner(keys); sc.Scan(); {
		f := strings.Split(sc.Text(), "\t")
		if f[0] == "key" {
			continue
		}
		f[0] = unescape.Replace(f[0])
		listed["0/"+f[0]] = true
		e, ok := got["0/"+f[0]]
		if !ok {
			t.Errorf("key %q is missing", f[0])
			continue
		}
		pttl, _ := strconv.ParseInt(f[1], 10, 64)
		now, _ := strconv.ParseInt(f[2], 10, 64)
		want := int64(rdb.NoExpiry)
		if pttl >= 0 {
			want = now/1000 + pttl
		}
		if (want == rdb.NoExpiry) != (e.ExpireMS == rdb.NoExpiry) {
			t.Errorf("key %q expires at %d, want %d", f[0], e.ExpireMS, want)
		}
		if want != rdb.NoExpiry {
			lags = append(lags, e.ExpireMS-want)
		}
		if e.Type != f[3] {
			t.Errorf("key %q has type %s, want %s", f[0], e.Type, f[3])
		}
	}
	// PTTL counts from the start of the script that listed the keys, TIME does
	// not.
	if len(lags) > 0 && (slices.Max(lags) > 50 || slices.Min(lags) < 0) {
		t.Errorf("expiries differ from the server's by %d to %d ms", slices.Min(lags), slices.Max(lags))
	}
	// What the server did not list had expired and was not yet deleted, or was
	// written before a delayed BGSAVE.
	alive := 0
	for name, e := range got {
		if !listed[name] && (e.ExpireMS == rdb.NoExpiry || e.ExpireMS/1000 > info.Created.Unix()) {
			alive++
		}
	}
	if alive > 1 {
		t.Errorf("%d of %d keys were not listed by the server and are alive", alive, len(got))
	}
}
