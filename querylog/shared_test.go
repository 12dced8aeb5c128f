package querylog

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedDir returns a folder of recorded logs that is not part of the
// project, and skips the test where it is missing; CI must have it.
func sharedDir(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", name)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("the shared records are not here:", err)
	}
	return dir
}

// text is a Source of a string.
func text(s string) Source {
	return Source{Name: "test", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }}
}

// got is an event kept after the next Read.
type got struct {
	Event
	query string
}

// readAll returns all events and the bad places of a source.
func readAll(t *testing.T, s Source, o Options) (events []got, faults []*ParseError) {
	t.Helper()
	r, err := NewReader(s, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Read()
		var pe *ParseError
		switch {
		case errors.As(err, &pe):
			faults = append(faults, pe)
			continue
		case errors.Is(err, io.EOF):
			return events, faults
		case err != nil:
			t.Fatal(err)
		}
		g := got{*e, string(e.Query)}
		g.client = nil
		events = append(events, g)
	}
}

// summarise counts a source that must be readable.
func summarise(t *testing.T, o Options, sources ...Source) *Summary {
	t.Helper()
	s, err := Summarise(context.Background(), sources, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
