package scan_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/scantest"
)

// at is a key that expires so many milliseconds after modTime.
func at(name string, ms int64) scan.Key {
	return scan.Key{Name: []byte(name), ExpireMS: modTime.UnixMilli() + ms}
}

func never(name string) scan.Key { return scan.Key{Name: []byte(name), ExpireMS: scan.NoExpiry} }

func typed(k scan.Key, typ string) scan.Key { k.Type = typ; return k }

func TestKeyList(t *testing.T) {
	full := typed(at("a", 500), "hash")
	full.DB, full.Idle, full.HasIdle, full.Freq, full.HasFreq = 3, 7*time.Second, true, 9, true
	for _, c := range []struct {
		name, text string
		want       []scan.Key
		note       string // part of the notes; "" for none
	}{
		{
			"columns of a recorded scan", "key\tpttl_ms\tserver_time_us\ttype\na\t500\t1800000000000000\tstring\nb\t-1\t1800000000000000\tset\n",
			[]scan.Key{typed(at("a", 500), "string"), typed(never("b"), "set")},
			"",
		},
		{
			"any order, other names", "Type,Expire At,NAME,idle,freq,db\nhash,1800000000500,a,7,9,3\n",
			[]scan.Key{full},
			"read as absolute Unix times in milliseconds",
		},
		{
			"absolute seconds, no line of names", "a,1800000300\nb,-1\nc,0\n",
			[]scan.Key{at("a", 300_000), never("b"), never("c")},
			"read as absolute Unix times in seconds, by the size of the first 1",
		},
		{
			"number first", "1800000300;a\n", []scan.Key{at("a", 300_000)}, "absolute Unix times in seconds",
		},
		{
			"absolute microseconds", "a\t1800000000500999\n", []scan.Key{at("a", 500)}, "absolute Unix times in microseconds",
		},
		{
			"relative seconds, no line of names", "a\t300\nb\t86400\n",
			[]scan.Key{at("a", 300_000), at("b", 86_400_000)},
			"read as times to live in seconds",
		},
		{
			"relative milliseconds by size", "a\t300\nb\t2592000000\n",
			[]scan.Key{at("a", 300), at("b", 2_592_000_000)},
			"read as times to live in milliseconds",
		},
		{
			"relative seconds by name", "key,ttl\na,300\n", []scan.Key{at("a", 300_000)}, "the file's modification time, 2027-01-15T08:00:00Z",
		},
		{
			"decimal seconds", "key,exp,now\na,1800000000.387,1800000000\n", []scan.Key{at("a", 387)}, "in seconds",
		},
		{
			"written times", "key,expires_at,time\na,2027-01-15T08:00:01Z,2027-01-15 08:00:00\nb,2027-01-15T09:00:02+01:00,1800000000\n",
			[]scan.Key{at("a", 1000), at("b", 2000)},
			"",
		},
		{
			"empty expiries", "key,pttl,expire_at,now\na,,1800000001,1800000000\nb,,,1800000000\nc,,never,1800000000\n",
			[]scan.Key{at("a", 1000), never("b"), never("c")},
			"An empty expiry is read as none, for 2 keys.",
		},
		{
			"quotes", "\"key\",\"pttl\",\"now\"\n\"a \"\"b\"\", c\",\"500\",1800000000\n", []scan.Key{at(`a "b", c`, 500)}, "",
		},
		{
			"tabs keep quotes and backslashes", "key\tpttl\tnow\n\"App\\new\"\t500\t1800000000\n", []scan.Key{at(`"App\new"`, 500)}, "",
		},
		{
			"BOM, CRLF, blank lines, no last line end", "\ufeff\r\nkey,pttl,now\r\n\r\na,500,1800000000\r\nb,600,1800000000",
			[]scan.Key{at("a", 500), at("b", 600)},
			"",
		},
		{
			"NDJSON", `{"key":"a\u0000\xff\"\ud83d\ude00","pttl_ms":500,"server_time":1800000000,"tags":["x",{"y":"]"}],"ok":true}` + "\n" +
				`{ "expire_at" : null , "key" : "b", "now":1800000000 }` + "\n",
			[]scan.Key{at("a\x00\xff\"\U0001f600", 500), never("b")},
			"An empty expiry",
		},
		{
			"NDJSON with bytes that are no UTF-8", "{\"key\":\"a\xfe\",\"pttl_ms\":500,\"now\":1800000000}\n", []scan.Key{at("a\xfe", 500)}, "",
		},
		{
			"base64", "key_base64,pttl,now\n" + base64.StdEncoding.EncodeToString([]byte("a\n\xff")) + ",500,1800000000\n",
			[]scan.Key{at("a\n\xff", 500)},
			"",
		},
		{
			"each row from its own time", "key,pttl,now\na,500,1800000000\nb,500,1800000001\n",
			[]scan.Key{at("a", 500), at("b", 1500)},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, cov, err := readFile(t, []byte(c.text), scan.FileOptions{})
			if err != nil || cov.Skipped != 0 || !cov.Complete {
				t.Errorf("error %v, coverage %+v", err, cov)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			notes := strings.Join(cov.Notes, " ")
			if c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
				t.Errorf("notes = %q, want %q", notes, c.note)
			}
		})
	}
}

func TestKeyListSource(t *testing.T) {
	path := tempFile(t, []byte("key,pttl,now,type\na,500,1800000000,string\nb,-1,1800000000,set\n"))
	want := []scan.Key{typed(at("a", 500), "string"), typed(never("b"), "set")}
	s := openFile(t, path, scan.FileOptions{})
	scantest.TestSource(t, s, want)
	if now, ok := s.Now(); !ok || !now.Equal(modTime) || s.Kind() != "list" || s.Resolution() != time.Millisecond {
		t.Errorf("Now %v, kind %s, resolution %v", now, s.Kind(), s.Resolution())
	}
	s = openFile(t, tempFile(t, []byte("a,1800000001\n")), scan.FileOptions{})
	if s.Resolution() != time.Second {
		t.Errorf("resolution %v", s.Resolution())
	}
}

// TestKeyListBadLines passes over what is not understood, counts it and says where it is.
func TestKeyListBadLines(t *testing.T) {
	text := "key,pttl,now\n" +
		"a,500,1800000000\n" +
		"b,500\n" + // line 3
		"c,soon,1800000000\n" +
		"\"d,500,1800000000\n" +
		"\"e\"x,500,1800000000\n" +
		"f,-5,1800000000\n" +
		"gone,-2,1800000000\n" +
		"old,0,1800000000\n" +
		strings.Repeat("x", 3<<20) + "\n" +
		"z,99999999999999999,1800000000\n" +
		"last,600,1800000000\n"
	got, c, err := readFile(t, []byte(text), scan.FileOptions{})
	if err != nil || !c.Complete {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]scan.Key{at("a", 500), at("last", 600)}, got); diff != "" {
		t.Error(diff)
	}
	if c.Skipped != 7 || c.Vanished != 1 || c.Expired != 1 || c.Read != 2 {
		t.Errorf("coverage %+v", c)
	}
	var lines []string
	for _, err := range c.Errors {
		lines = append(lines, err.Error())
	}
	want := []string{
		"line 3: 2 fields instead of 3",
		`line 4: not a time or a time to live: "soon"`,
		"line 5: a quote that is not closed on its line",
		`line 6: 'x' behind a closing quote`,
		`line 7: not a time or a time to live: "-5"`,
		"line 10: longer than 1048576 bytes",
		"line 11: not a time or a time to live: more than 1000 years",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// TestKeyListManyBadLines bounds the list of errors, not the count.
func TestKeyListManyBadLines(t *testing.T) {
	_, c, err := readFile(t, []byte("key,pttl,now\na,5,1800000000\n"+strings.Repeat("bad\n", 1000)), scan.FileOptions{})
	if err != nil || c.Skipped != 1000 || len(c.Errors) != 20 {
		t.Errorf("error %v, %d skipped, %d errors", err, c.Skipped, len(c.Errors))
	}
}

// TestKeyListUnits refuses what can't be told apart, and takes the user's word.
func TestKeyListUnits(t *testing.T) {
	for text, want := range map[string]string{
		"a,1800000000\nb,1800000000000\n": "the expiries mix units",
		"a,1800000000000\nb,300\n":        "the expiries mix absolute and relative times",
		"key,ttl,value":                   "",
		"key,size\na,5\n":                 "no columns for the key and its expiry",
		"a,b,c\n":                         "no columns for the key and its expiry",
	} {
		_, err := scan.OpenFile(t.Context(), tempFile(t, []byte(text)), scan.FileOptions{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error = %v, want %q", text, err, want)
		}
	}
	got, _, err := readFile(t, []byte("a\t300\n"), scan.FileOptions{TTLUnit: time.Millisecond})
	if diff := cmp.Diff([]scan.Key{at("a", 300)}, got); diff != "" || err != nil {
		t.Errorf("error %v, %s", err, diff)
	}
	// A later row that is of another size than the first ones is not guessed at.
	text := strings.Repeat("a,1800000300\n", 10_000) + "b,1800000300000\n"
	_, c, err := readFile(t, []byte(text), scan.FileOptions{})
	if err != nil || c.Read != 10_000 || c.Skipped != 1 {
		t.Errorf("error %v, coverage %+v", err, c)
	}
}

// TestKeyListNow counts relative times from the row, the user, the file, or refuses.
func TestKeyListNow(t *testing.T) {
	given := time.Unix(1_800_000_100, 0)
	got, _, err := readFile(t, []byte("key,ttl\na,5\n"), scan.FileOptions{Now: given})
	if diff := cmp.Diff([]scan.Key{at("a", 105_000)}, got); diff != "" || err != nil {
		t.Errorf("error %v, %s", err, diff)
	}
	got, _, err = readFile(t, []byte("key,ttl,now\na,5,1800000000\n"), scan.FileOptions{Now: given})
	if diff := cmp.Diff([]scan.Key{at("a", 5000)}, got); diff != "" || err != nil {
		t.Errorf("error %v, %s", err, diff)
	}
	s := openFile(t, "-", scan.FileOptions{Stdin: strings.NewReader("key,ttl\na,5\n")})
	if _, ok := s.Now(); ok {
		t.Error("a stream without a time has one")
	}
	if _, _, err := drain(t, s); !errors.Is(err, scan.ErrNoNow) {
		t.Errorf("error = %v, want ErrNoNow", err)
	}
}

// TestKeyListLong reads more lines than the sample holds.
func TestKeyListLong(t *testing.T) {
	var b strings.Builder
	b.WriteString("key\tpttl_ms\tserver_time_us\ttype\n")
	const n = 50_000
	for i := range n {
		fmt.Fprintf(&b, "session:%d\t%d\t%d\tstring\n", i, 1000+i, 1_800_000_000_000_000+i)
	}
	path := tempFile(t, []byte(b.String()))
	s := openFile(t, path, scan.FileOptions{})
	got, c, err := drain(t, s)
	if err != nil || len(got) != n || c.Skipped != 0 {
		t.Errorf("%d keys, error %v, coverage %+v", len(got), err, c)
	}
	if now, _ := s.Now(); now.UnixMilli() != 1_800_000_000_049 {
		t.Errorf("Now = %v, want the newest row's time", now)
	}
}

func FuzzKeyList(f *testing.F) {
	f.Add("key\tpttl_ms\tserver_time_us\ttype\na\t500\t1800000000000000\tstring\n")
	f.Add("a,1800000300\n\"b\"\"\",-1\n")
	f.Add("{\"key\":\"a\\u0000\\xff\\ud83d\",\"pttl_ms\":500,\"x\":[{}]}\n")
	f.Add("key64;exp\nYQ==;1800000000.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scan.OpenFile(t.Context(), "-", scan.FileOptions{Stdin: strings.NewReader(text), Now: modTime})
		if err != nil {
			return
		}
		_, c, err := drain(t, s)
		lines := uint64(strings.Count(text, "\n") + 1)
		if seen := c.Read + c.Skipped + c.Vanished + c.Expired; s.Kind() == "list" && seen > lines {
			t.Errorf("%d records in %d lines (error %v)", seen, lines, err)
		}
	})
}

func FuzzMetadump(f *testing.F) {
	f.Add("key=a%3A1 exp=1800000300 la=1800000000 cas=1 fetch=no cls=1 size=83\nEND\n")
	f.Add("key=a exp=-1 la=5 fetch=yes flags=0\r\nkey= exp=\nkey=%4\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scan.OpenFile(t.Context(), "-", scan.FileOptions{Stdin: strings.NewReader(text)})
		if err != nil || s.Kind() != "memcached" {
			return
		}
		got, _, err := drain(t, s)
		if err != nil {
			t.Error(err)
		}
		for _, k := range got {
			if len(k.Name) == 0 || k.TTL < 0 {
				t.Errorf("key %+v", k)
			}
		}
	})
}
