// Package eventlog reads lists of events of any kind: times one a line,
// CSV, TSV or NDJSON with a time column, and Common or Combined access logs.
// The layout is recognised by content.
package eventlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"
)

// An Event is one thing that happened. It is valid until the next Read.
type Event struct {
	UnixNano int64
	Key      []byte // what: a statement, a path; empty if unknown
	Host     []byte // who; empty if unknown
}

// A ParseError is one line that was skipped. It is not fatal: read on.
type ParseError struct {
	Line int // from 1
	Err  error
}

func (e *ParseError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *ParseError) Unwrap() error { return e.Err }

// maxLine bounds one line. A longer one is skipped and reported.
const maxLine = 1 << 20

var errLong = errors.New("line longer than 1 MiB")

// A Reader reads events from one stream.
type Reader struct {
	in     *bufio.Reader
	zone   *time.Location
	line   int
	layout layout
	event  Event
	finest time.Duration
}

// NewReader reads from r. Times without a zone are taken to be in zone.
func NewReader(r io.Reader, zone *time.Location) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 1<<16), zone: zone, finest: time.Second}
}

// Layout names the layout found: "times", "csv", "tsv", "ndjson",
// "access-log", or "" while nothing was understood.
func (r *Reader) Layout() string {
	if r.layout == nil {
		return ""
	}
	return r.layout.name()
}

// Resolution is that of the finest time read so far, one second at most.
func (r *Reader) Resolution() time.Duration { return r.finest }

// Read returns the next event, io.EOF at the end, a *ParseError for a line
// that is not understood, or the stream's error.
func (r *Reader) Read() (*Event, error) {
	for {
		line, err := r.next()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if r.layout == nil {
			layout, header := recognise(line, r.zone)
			if layout == nil {
				return nil, &ParseError{r.line, errNoTime}
			}
			r.layout = layout
			if header {
				continue
			}
		}
		s, err := r.layout.parse(line, &r.event, r.zone)
		if err != nil {
			return nil, &ParseError{r.line, err}
		}
		r.event.UnixNano = s.ns
		r.finest = min(r.finest, s.resolution)
		return &r.event, nil
	}
}

// next returns one line without its end and without blanks around it.
func (r *Reader) next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	r.line++
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.long(line)
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}
	if r.line == 1 {
		line = trimBOM(line)
	}
	return trim(line), nil
}

// long collects a line that does not fit the buffer, up to maxLine.
func (r *Reader) long(head []byte) ([]byte, error) {
	line := append([]byte(nil), head...)
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > maxLine {
			return nil, &ParseError{r.line, errLong}
		}
		return line, err
	}
}
