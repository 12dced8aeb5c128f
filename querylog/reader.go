package querylog

import (
	"io"
	"time"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// Options say how logs are read and counted. The zero value is ready.
type Options struct {
	// Zone is the time zone of stamps that name none. Nil means UTC.
	Zone *time.Location
	// Server overrides what the log says about its writer.
	Server Server
	// FoldDigits makes one class of tables that differ in digits only.
	FoldDigits bool
	// From and To leave out events that start before From or not before To.
	From, To time.Time
	// Workers is the number of parsers of Summarise; 0 means one per processor.
	Workers int
	// BlockSize is how many bytes are parsed at once; 0 means 256 KiB.
	BlockSize int
	// Progress, if set, is told how many bytes of decompressed log were
	// counted, from time to time and from one goroutine.
	Progress func(bytes int64)
}

// inWindow says whether an event is asked for.
func (o *Options) inWindow(e *Event) bool {
	if !o.From.IsZero() && e.Time.Before(o.From) {
		return false
	}
	return o.To.IsZero() || e.Time.Before(o.To)
}

// Reader reads a log event by event.
type Reader struct {
	in     *input
	rs     *resolver
	blocks *blocks

	b     *block
	i     int // next record
	fault int // next fault
	mark  int // next mark
	read  bool
	err   error
}

// NewReader opens a source and recognises its format. It returns an
// *UnknownFormatError when the content is no query log.
func NewReader(s Source, o Options) (*Reader, error) {
	in, err := openInput(s)
	if err != nil {
		return nil, err
	}
	cut := newCutter(in.r, in.grammar, o.BlockSize)
	bs := &blocks{g: in.grammar, lex: sqltext.Lexer{FoldDigits: o.FoldDigits}, recycle: cut.recycle}
	bs.pull = func() *block {
		b := cut.next()
		if b != nil {
			parseBlock(b, bs.g, &bs.lex)
		}
		return b
	}
	return &Reader{in: in, rs: newResolver(o), blocks: bs}, nil
}

// Format returns the format of the log.
func (r *Reader) Format() Format { return r.in.format }

// Close closes the source.
func (r *Reader) Close() error { return r.in.Close() }

// Read returns the next event, which is valid until the next call. At the end
// it returns io.EOF. A *ParseError is one bad place: read on. Any other error
// ends the log.
func (r *Reader) Read() (*Event, error) {
	for r.err == nil {
		if r.b == nil {
			if r.b = r.blocks.next(); r.b == nil {
				r.err = io.EOF
				break
			}
			r.i, r.fault, r.mark = 0, 0, 0
			r.rs.begin(r.b)
		}
		b := r.b
		for r.mark < len(b.marks) && b.marks[r.mark].before <= r.i {
			r.rs.mark(b.marks[r.mark], r.read)
			r.mark++
		}
		if r.fault < len(b.faults) && (r.i >= len(b.records) || b.faults[r.fault].at <= b.records[r.i].at) {
			r.fault++
			return nil, b.parseError(r.in.name, r.fault-1)
		}
		if r.i < len(b.records) {
			r.i++
			r.read = true
			return r.rs.eventOf(b, r.in.format, r.i-1), nil
		}
		if b.last {
			if r.err = b.err; r.err == nil {
				r.err = io.EOF
			}
		}
		r.blocks.release(b)
		r.b = nil
	}
	return nil, r.err
}
