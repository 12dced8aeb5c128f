package querylog

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"
)

// TestStopped reads inputs that end badly and wants plain words for it.
func TestStopped(t *testing.T) {
	var whole, saved bytes.Buffer
	z := gzip.NewWriter(&whole)
	_, _ = io.WriteString(z, "# Time: 2026-11-03T10:00:00.102000Z\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 1  Rows_examined: 1\nSELECT 1;\n")
	_ = z.Close()
	if err := (&Summary{}).Save(&saved, false); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		in   []byte
		want string
	}{
		{"breaks off", t.Context(), whole.Bytes()[:whole.Len()-6], "it breaks off (unexpected EOF)"},
		{"garbage behind", t.Context(), append(bytes.Clone(whole.Bytes()), "garbage garbage"...), "no gzip data where it should go on"},
		{"interrupted", done, whole.Bytes(), "interrupted"},
		{"damaged summary", t.Context(), saved.Bytes(), "it looks like a summary of herdscan that breaks off or is damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Summarise(c.ctx, []Source{ReaderSource("slow.gz", bytes.NewReader(c.in))}, Options{})
			got := s.Coverage()
			if err == nil || len(got) != 1 || !strings.Contains(got[0].Stopped, c.want) || strings.Contains(got[0].Stopped, "slow.gz") {
				t.Errorf("%+v, %v; want %q", got, err, c.want)
			}
		})
	}
}
