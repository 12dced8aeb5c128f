package querylog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

func TestUnknownFormats(t *testing.T) {
	tests := []struct{ name, data, looks string }{
		{"PostgreSQL", "2026-03-24 14:00:00 UTC [1] LOG:  duration: 5.0 ms  statement: SELECT 1\n", "PostgreSQL"},
		{"error log", "2026-03-24T14:00:00Z 0 [System] [MY-010116] [Server] mysqld starting\n", "error log"},
		{"binary", "\x00\x01\x02", "binary"},
		{"xz", "\xfd7zXZ\x00...", "xz"},
		{"Redis dump", "REDIS0011xx", "Redis dump"},
		{"dump", "-- MySQL dump 10.13\n", "mysqldump"},
		{"anything", "hello\nworld\n", ""},
		{"JSON of something else", `{"hello":"world"}` + "\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader(text(tt.data), Options{})
			var unknown *UnknownFormatError
			if tt.name == "JSON of something else" {
				if err == nil {
					s, err := Summarise(context.Background(), []Source{text(tt.data)}, Options{})
					if err != nil || s.Coverage()[0].Skipped == 0 {
						t.Errorf("read without a word: %v", s.Coverage())
					}
				}
				return
			}
			if !errors.As(err, &unknown) || !strings.Contains(unknown.Looks, tt.looks) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestTooLittle(t *testing.T) {
	one := "# Time: 2026-03-24T14:00:%02d.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSELECT %d FROM t;\n"
	var twelve, second strings.Builder
	for i := range 12 {
		fmt.Fprintf(&twelve, one, i, i)
	}
	for range 40 {
		fmt.Fprintf(&second, one, 1, 1)
	}
	tests := []struct{ name, log, want string }{
		{"empty", "", "no statement"},
		{"banner only", bannerMySQL8, "no statement"},
		{"12 statements", twelve.String(), "12 statements: too few to judge (need 20)"},
		{"one second", second.String(), "too short"},
		{"no time", strings.Repeat("# User@Host: a[a] @ h []\n# Query_time: 1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSELECT 1 FROM t;\n", 30), "no record has a time"},
	}
	for _, tt := range tests {
		a := Analyse(summarise(t, Options{}, text(tt.log)), AnalyseOptions{})
		if !strings.Contains(a.Undecided, tt.want) {
			t.Errorf("%s: undecided %q, want %q", tt.name, a.Undecided, tt.want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if _, err := Files(filepath.Join(dir, "none.log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Files(dir); !errors.Is(err, ErrNoLogs) {
		t.Errorf("a folder without logs: %v", err)
	}
	write := func(name, data string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "hello")
	write("b.log", smallLog())
	sources, err := Files(dir)
	if err != nil || len(sources) != 1 || filepath.Base(sources[0].Name) != "b.log" {
		t.Errorf("sources %v, error %v", sources, err)
	}
	broken := Source{Name: "broken", Open: func() (io.ReadCloser, error) { return nil, os.ErrPermission }}
	s, err := Summarise(context.Background(), append([]Source{broken}, sources...), Options{})
	if !errors.Is(err, os.ErrPermission) || s.Statements() == 0 {
		t.Errorf("%d statements, error %v", s.Statements(), err)
	}
	if c := s.Coverage(); len(c) != 2 || c[0].Stopped == "" || !c[1].Complete {
		t.Errorf("coverage %+v", c)
	}
}

func TestCompressed(t *testing.T) {
	plain := smallLog()
	want := summarise(t, Options{}, text(plain)).Statements()
	var gz, zs bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, _ = w.Write([]byte(plain))
	_ = w.Close()
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write([]byte(plain))
	_ = z.Close()
	for _, packed := range []string{gz.String(), zs.String()} {
		if n := summarise(t, Options{}, text(packed)).Statements(); n != want {
			t.Errorf("%d statements, want %d", n, want)
		}
	}
	s, err := Summarise(context.Background(), []Source{text(gz.String()[:gz.Len()*2/3])}, Options{})
	if !errors.Is(err, io.ErrUnexpectedEOF) || s.Statements() == 0 || s.Statements() >= want {
		t.Errorf("truncated: %d of %d statements, error %v", s.Statements(), want, err)
	}
	if c := s.Coverage()[0]; c.Complete || c.Stopped == "" {
		t.Errorf("truncated: coverage %+v", c)
	}
}

// TestGiant reads a statement that fits into no block, in bounded memory.
func TestGiant(t *testing.T) {
	head := "# Time: 2026-03-24T14:00:%02d.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\n"
	row := "(1234567,'some text'),"
	rows := 20 << 20 / len(row)
	parts := func(n int) io.Reader {
		return io.MultiReader(
			strings.NewReader(fmt.Sprintf(head, 1)+"SELECT 1;\n"+fmt.Sprintf(head, 2)+"INSERT INTO t VALUES "),
			&repeatReader{text: row, n: n}, strings.NewReader("(1,'x');\n"+fmt.Sprintf(head, 3)+"SELECT 2;\n"))
	}
	var texts []uint64
	for _, n := range []int{rows, rows + 1} {
		r, err := NewReader(ReaderSource("giant", parts(n)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int64
		for {
			e, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, e.Size)
			if len(sizes) == 2 {
				texts = append(texts, e.Text)
				if len(e.Query) > MaxStatement {
					t.Errorf("%d bytes kept", len(e.Query))
				}
			}
			if len(sizes) == 3 && e.Line != 9 {
				t.Errorf("the record behind it is on line %d, want 9", e.Line)
			}
		}
		if want := int64(len("INSERT INTO t VALUES ") + n*len(row) + len("(1,'x');\n")); len(sizes) != 3 || sizes[1] != want {
			t.Errorf("sizes %v, want %d in the middle", sizes, want)
		}
	}
	if texts[0] == texts[1] {
		t.Error("giants of different length count as identical")
	}
}

// repeatReader gives a text n times.
type repeatReader struct {
	text string
	n    int
	rest string
}

func (r *repeatReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.n == 0 {
			return 0, io.EOF
		}
		k := min(r.n, 1000)
		r.n -= k
		r.rest = strings.Repeat(r.text, k)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestOrder(t *testing.T) {
	log := func(hour int) Source {
		at := time.Date(2026, 3, 24, hour, 0, 0, 0, time.UTC)
		s := text(fmt.Sprintf("# Time: %s\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSELECT 1;\n", at.Format("2006-01-02T15:04:05.000000Z")))
		s.Name = fmt.Sprint(hour)
		return s
	}
	empty := text("")
	empty.Name = "empty"
	var names []string
	for _, s := range Order(context.Background(), []Source{empty, log(9), log(7), log(8)}, Options{}) {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "7 8 9 empty" {
		t.Errorf("order %s", got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(smallLog()[:4000]))
	f.Add([]byte("261130 18:10:11\t     4 Query\tSELECT 'x\n\t\t     5 Query\tSELECT 1\n"))
	f.Add([]byte("\"2026-11-30 18:10:11.5\",\"a[a] @ h []\",\"00:00:01\",\"0\",3,0,\"s\",0,0,1,\"SELECT \\\"a\",4\n"))
	f.Add([]byte(`{"logEvents":[{"message":"# Time: 190123 12:34:56\n# User@Host: a[a] @ h []\nselect 1;"}]}`))
	f.Add([]byte("# Time: 190227 9:46:00 # User@Host: a[a] @ h [] # Query_time: 1 SET timestamp=1; select 1;\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		count := func(size int) (n int, queries uint64) { // faults count too
			r, err := NewReader(text(string(data)), Options{BlockSize: size})
			if err != nil {
				return -1, 0
			}
			defer r.Close()
			for i := 0; ; i++ {
				e, err := r.Read()
				var pe *ParseError
				switch {
				case errors.As(err, &pe):
					queries = queries*31 + uint64(pe.Line)
					continue
				case err != nil:
					return n, queries
				}
				n++
				queries = queries*31 + e.Text + uint64(e.Line)
			}
		}
		n1, q1 := count(1 << 20)
		n2, q2 := count(97)
		if n1 != n2 || q1 != q2 {
			t.Errorf("%d events in one block, %d in small ones", n1, n2)
		}
	})
}

// TestOffset learns the zone of a log's clock from records that tell both times.
func TestOffset(t *testing.T) {
	log := bannerMaria + "# Time: 261130  7:40:12\n# User@Host: a[a] @  [1]\n# Thread_id: 4  Schema: s  QC_hit: No\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSET timestamp=1796037012;\nSELECT 1;\n"
	c := summarise(t, Options{}, text(log)).Coverage()[0]
	if !c.HasOffset || c.Offset != -(3*time.Hour+30*time.Minute) {
		t.Errorf("offset %v", c.Offset)
	}
}
