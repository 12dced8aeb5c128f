package spread

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/scan"
)

// names are keys that only bytes can hold.
var names = []string{"plain", "cr\r\nlf", "nul\x00", "\xff\xfe", "", "\u202e", strings.Repeat("long", 1000)}

func testPlan(n int) *Plan {
	p := &Plan{Options: Options{Pattern: "page:*", Jitter: 0.15, Seed: 7}, Now: start}
	for i := range n {
		name := fmt.Sprintf("page:%d", i)
		if i < len(names) {
			name = names[i]
		}
		p.Changes = append(p.Changes, scan.Change{KeyRef: scan.KeyRef{Name: []byte(name), DB: i % 3}, Old: int64(2_000_000 + i), New: int64(1_000_000 + i)})
	}
	return p
}

func create(t testing.TB, p *Plan) (*Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.ndjson")
	l, err := Create(path, Header{Version: "1", Source: "redis://x"}, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, path
}

// A fakeServer is the expiries of keys. It fails after so many changes.
type fakeServer struct {
	at    map[string]int64
	sets  int
	until int
	end   context.CancelFunc
}

func newFakeServer(p *Plan) *fakeServer {
	f := &fakeServer{at: make(map[string]int64), until: 1 << 30}
	for _, c := range p.Changes {
		f.at[f.key(c)] = c.Old
	}
	return f
}

func (f *fakeServer) key(c scan.Change) string { return fmt.Sprint(c.DB, string(c.Name)) }

func (f *fakeServer) Set(ctx context.Context, changes []scan.Change) ([]scan.Outcome, error) {
	out := make([]scan.Outcome, len(changes))
	for i, c := range changes {
		if f.sets == f.until {
			for ; i < len(out); i++ {
				out[i] = scan.Unreached
			}
			if f.end != nil {
				f.end()
				return out, context.Canceled
			}
			return out, errors.New("connection lost")
		}
		switch at, ok := f.at[f.key(c)]; {
		case !ok:
			out[i] = scan.Vanished
		case at == c.New:
			out[i] = scan.Written
		case at != c.Old:
			out[i] = scan.Changed
		default:
			f.at[f.key(c)], out[i] = c.New, scan.Written
			f.sets++
		}
	}
	return out, nil
}

func TestLogRoundTrip(t *testing.T) {
	p := testPlan(1200)
	l, path := create(t, p)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := Create(path, Header{}, p); !errors.Is(err, os.ErrExist) {
		t.Errorf("an existing log: %v", err)
	}
	if err := l.record(500, []scan.Outcome{scan.Written, scan.Changed, scan.Unreached}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got.Changes, p.Changes, sameChange) {
		t.Error("the changes differ")
	}
	if got.Pattern != "page:*" || got.Seed != 7 || !got.Made.Equal(start) || got.Source != "redis://x" {
		t.Errorf("header %+v", got.Header)
	}
	if got.Left() != 1198 || got.Outcomes[500] != scan.Written || got.Outcomes[501] != scan.Changed || len(got.Backward()) != 1199 {
		t.Errorf("%d left, %d to put back", got.Left(), len(got.Backward()))
	}
}

// TestResume cuts runs off at any place, mid-batch and while the log is
// written: each key ends with its planned expiry, shortened once.
func TestResume(t *testing.T) {
	p := testPlan(1300)
	for _, until := range []int{0, 1, 499, 500, 501, 1299, 1300} {
		l, path := create(t, p)
		f := newFakeServer(p)
		f.until = until
		var ctx context.Context
		ctx, f.end = context.WithCancel(t.Context())
		r, err := l.Apply(ctx, f, func(int, int) {})
		if (err != nil) != (until < 1300) {
			t.Errorf("cut off after %d: %v", until, err)
		}
		if r.Counts[scan.Written] != until || r.Done() != until {
			t.Errorf("cut off after %d: %v", until, r.Counts)
		}
		l.Close()
		// The crash also took the end of the log.
		text, _ := os.ReadFile(path)
		if err := os.WriteFile(path, text[:len(text)-5], 0o600); err != nil {
			t.Fatal(err)
		}
		l, err = Open(path, true)
		if err != nil {
			if until == 0 && errors.Is(err, ErrIncomplete) {
				continue
			}
			t.Fatal(err)
		}
		f.until = 1 << 30
		f.at[f.key(p.Changes[1299])] = 42 // written by its owner meanwhile, unless it was reached before
		r, err = l.Apply(t.Context(), f, func(int, int) {})
		if err != nil || r.Counts[scan.Unreached] != 0 || l.Left() != 0 {
			t.Errorf("resumed after %d: %v, %v", until, r.Counts, err)
		}
		for i, c := range p.Changes[:1299] {
			if f.at[f.key(c)] != c.New {
				t.Fatalf("resumed after %d: key %d expires at %d", until, i, f.at[f.key(c)])
			}
		}
		if f.sets > 1300 {
			t.Errorf("resumed after %d: %d expiries were set for 1300 keys", until, f.sets)
		}
		l.Close()

		// All of it can be taken back, twice.
		l, err = Open(path, false)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := Undo(t.Context(), f, l.Backward(), func(int, int) {}); err != nil {
				t.Fatal(err)
			}
			for i, c := range p.Changes[:1299] {
				if f.at[f.key(c)] != c.Old {
					t.Fatalf("undone after %d: key %d expires at %d", until, i, f.at[f.key(c)])
				}
			}
			if f.at[f.key(p.Changes[1299])] != 42 {
				t.Fatal("a key that its owner had written was put back")
			}
		}
	}
}

// TestUnreachedServer goes on where one of several servers does not answer.
func TestUnreachedServer(t *testing.T) {
	p := testPlan(1200)
	l, _ := create(t, p)
	f := newFakeServer(p)
	f.until = 700
	r, err := l.Apply(t.Context(), f, func(int, int) {})
	if err != nil || r.Counts[scan.Written] != 700 || r.Counts[scan.Unreached] != 500 || !slices.Equal(r.Errors, []string{"connection lost"}) {
		t.Errorf("%v, %q, %v", r.Counts, r.Errors, err)
	}
}

func TestBrokenLogs(t *testing.T) {
	p := testPlan(10)
	_, path := create(t, p)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	lines := strings.SplitAfter(good, "\n")
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "not a log"},
		"other JSON":        {"{}\n", "not a log"},
		"text":              {"hello\nworld\n", "not a log"},
		"cut in the header": {good[:20], "not a log"},
		"cut in the plan":   {good[:len(good)-3], "before it touched a key"},
		"other version":     {strings.Replace(good, "spread/1", "spread/9", 1), "herdscan-spread/9"},
		"a broken entry":    {strings.Replace(good, `"o":2000003`, `"o":"x"`, 1), "line 5"},
		"no old expiry":     {strings.Replace(good, `"o":2000003,`, ``, 1), "line 5"},
		"far results":       {good + `{"from":9,"outcomes":"ww"}` + "\n", "line 12"},
		"negative results":  {good + `{"from":-1,"outcomes":"w"}` + "\n", "line 12"},
		"huge":              {strings.Replace(lines[0], `"keys":10`, `"keys":99999999999`, 1), "99999999999"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, write := range []bool{false, true} {
				if _, err := Open(path, write); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error is %v, want %q in it", err, c.want)
				}
			}
			if now, _ := os.ReadFile(path); string(now) != c.text {
				t.Error("a log that can't be read was changed")
			}
		})
	}
}

func FuzzLog(f *testing.F) {
	p := testPlan(10)
	_, path := create(f, p)
	text, _ := os.ReadFile(path)
	f.Add(text)
	f.Add(append(text, `{"from":3,"outcomes":"wwc"}`+"\n"...))
	f.Add([]byte(`{"format":"herdscan-spread/1","keys":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &Log{}
		end, err := l.read(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		if end > int64(len(text)) || len(l.Changes) != l.Keys || len(l.Outcomes) != l.Keys {
			t.Fatalf("%d bytes of %d, %d changes, %d keys", end, len(text), len(l.Changes), l.Keys)
		}
		l.Left()
		l.Backward()
	})
}
