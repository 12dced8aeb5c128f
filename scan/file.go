package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/herdscan/herdscan/scan/rdb"
)

// ErrNoNow is the error for a list of relative times to live, such as
// "ttl=300", when nothing tells the time at which they were read.
var ErrNoNow = errors.New("the times to live are relative and nothing says when they were read; give that time (--now)")

// FileOptions are the settings of OpenFile. The zero value is ready.
type FileOptions struct {
	// Now is the time as of which the file is judged; zero for the file's own. Rows of a list with a time of their own
	// count from that.
	Now time.Time
	// Stdin is read for the path "-"; nil for the process' standard input.
	Stdin io.Reader
	// TTLUnit is the unit of relative times in a list whose header does not name it; 0 to conclude it.
	TTLUnit time.Duration
	// List takes the file for a list of keys whatever its first bytes look like.
	List bool
	// SkipChecksum leaves the checksum of an RDB file unread, which saves the time of another core.
	SkipChecksum bool
}

// FileSource reads keys from a file: an RDB file (also one in front of an append-only file or in a replication
// stream), the saved output of memcached's "lru_crawler metadump all", or a list of keys and expiries as TSV, CSV or
// NDJSON. Each may be compressed with gzip or zstd. The memory does not depend on the size of the file.
type FileSource struct {
	path string
	name string
	opts FileOptions

	pending  keyReader // for a stream: opened by OpenFile, taken by the first Keys
	stream   bool
	modTime  time.Time
	last     keyReader // the one that was read last: for Now and notes
	coverage Coverage
}

// A keyReader yields the keys of one opened file.
type keyReader interface {
	// next returns the next key: valid until the next call. The error is io.EOF at the end of a complete file, a
	// *RecordError for a record that was passed over, and anything else at the end of what can be read.
	next(k *Key) error
	// now is the time as of which the keys are judged, as far as it is known.
	now() (time.Time, bool)
	// readAt is the time in Unix milliseconds at which the last key was read from its server; 0 if unknown.
	readAt() int64
	// about fills in what the file says about itself.
	about(c *Coverage)
	kind() string
	resolution() time.Duration
	size() uint64
	io.Closer
}

// A RecordError is a record of a file that was not understood. The reading goes on behind it.
type RecordError struct {
	Line int // counted from 1
	Err  error
}

func (e *RecordError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// OpenFile recognises the content of a file by its first bytes, never by its name. The path "-" is the standard
// input, which can be read once. Errors say what the file is instead, when it is nothing that holds keys.
func OpenFile(ctx context.Context, path string, o FileOptions) (*FileSource, error) {
	s := &FileSource{path: path, name: filepath.ToSlash(path), opts: o}
	if path == "-" {
		s.name, s.stream = "standard input", true
	} else {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return nil, fmt.Errorf("%s: is a folder", path)
		}
		s.stream, s.modTime = !info.Mode().IsRegular(), info.ModTime()
	}
	r, err := s.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	s.last = r
	if s.stream {
		s.pending = r
		return s, nil
	}
	defer r.Close()
	if m, ok := r.(*metadumpReader); ok && o.Now.IsZero() {
		if s.opts.Now, err = m.newestAccess(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return s, nil
}

// open opens and recognises the file and reads its head.
func (s *FileSource) open(ctx context.Context) (keyReader, error) {
	f, err := s.openRaw()
	if err != nil {
		return nil, err
	}
	// Closing the file wakes a read that waits for a slow stream.
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	defer stop()
	c, err := openContent(f, s.opts.List)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	var r keyReader
	switch c.kind {
	case kindRDB:
		r, err = newRDBReader(c, s.opts, s.modTime)
	case kindMetadump:
		r, err = newMetadumpReader(c, s.opts)
	default:
		r, err = newListReader(c, s.opts, s.modTime)
	}
	if err != nil {
		_ = c.Close() // the error that matters is the first
		return nil, err
	}
	return r, nil
}

func (s *FileSource) openRaw() (io.ReadCloser, error) {
	switch {
	case !s.stream:
		return os.Open(s.path)
	case s.path != "-":
		f, err := os.Open(s.path)
		if err != nil {
			return nil, err
		}
		return pump(f), nil
	case s.opts.Stdin != nil:
		return pump(s.opts.Stdin), nil
	}
	return pump(os.Stdin), nil
}

// Keys implements Source. Keys that had expired when they were read from their server (at Now, or at the
// time of their row) are counted, not yielded. Of a damaged or unknown file what
// comes before the damage is yielded, and the error names its place.
func (s *FileSource) Keys(ctx context.Context, yield func(*Key) error) error {
	s.coverage = Coverage{Name: s.name, Sampled: 1}
	r := s.pending
	if r == nil && s.stream {
		return fmt.Errorf("%s: can be read only once", s.name)
	}
	s.pending = nil
	if r == nil {
		var err error
		if r, err = s.open(ctx); err != nil {
			return s.failed(err)
		}
	}
	s.last = r
	// Closing the reader wakes a read that waits for a slow stream.
	stop := context.AfterFunc(ctx, func() { _ = r.Close() })
	defer stop()
	defer r.Close()
	err := s.read(ctx, r, yield)
	if !s.coverage.Complete {
		s.coverage.Total = r.size()
	}
	r.about(&s.coverage)
	return err
}

// checkEvery is how many keys are read between two looks at the context.
const checkEvery = 1024

// maxRecordErrors bounds how many skipped records are described; all are counted.
const maxRecordErrors = 20

func (s *FileSource) read(ctx context.Context, r keyReader, yield func(*Key) error) error {
	var k Key
	for n := uint64(0); ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return s.failed(ctx.Err())
		}
		err := r.next(&k)
		var bad *RecordError
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			s.coverage.Complete = true
			s.coverage.Total = s.coverage.Read
			return nil
		case errors.As(err, &bad):
			s.skipped(bad)
			continue
		case ctx.Err() != nil:
			return s.failed(ctx.Err())
		default:
			return s.failed(err)
		}
		if k.ExpireMS != NoExpiry && k.ExpireMS <= r.readAt() {
			s.coverage.Expired++
			continue
		}
		s.coverage.Read++
		if err := yield(&k); err != nil {
			return err
		}
	}
}

func (s *FileSource) skipped(err *RecordError) {
	if errors.Is(err, errVanished) {
		s.coverage.Vanished++
		return
	}
	s.coverage.Skipped++
	if len(s.coverage.Errors) < maxRecordErrors {
		s.coverage.Errors = append(s.coverage.Errors, err)
	}
}

// failed notes an error that ended the reading.
func (s *FileSource) failed(err error) error {
	var dump *rdb.Error
	if errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &dump) { // a dump says so itself
		err = fmt.Errorf("the compressed file is cut off, so the keys behind are missing: %w", err)
	}
	err = fmt.Errorf("%s: %w", s.name, err)
	s.coverage.Errors = append(s.coverage.Errors, err)
	return err
}

// Size implements Source. A file tells at most a part of its keys before it is read; the answer is then 0.
func (s *FileSource) Size(context.Context) (uint64, error) { return s.last.size(), nil }

// String names the file as it was given.
func (s *FileSource) String() string { return s.name }

// Kind says what the file was recognised as: "rdb", "memcached" or "list".
func (s *FileSource) Kind() string { return s.last.kind() }

// Now returns the time as of which the keys are judged: FileOptions.Now, else the time at which the file says its
// keys were read. It is known when OpenFile returns, except for a list, where it grows with the rows. It is false if
// nothing tells it.
func (s *FileSource) Now() (time.Time, bool) { return s.last.now() }

// Info returns what an RDB file tells about the server that wrote it: product, version, used memory and clock. Of other
// files it has only the product and the clock.
func (s *FileSource) Info() Info {
	info := Info{Kind: s.Kind()}
	info.Now, _ = s.Now()
	r, ok := s.last.(*rdbReader)
	if !ok {
		return info
	}
	dump := r.dump.Info()
	info.Kind, info.Version, info.UsedMemory = "redis", dump.ServerVersion, dump.UsedMemory
	if dump.Valkey {
		info.Kind = "valkey"
	}
	return info
}

// Resolution returns the unit in which the file gives expiries: a millisecond or a second.
func (s *FileSource) Resolution() time.Duration { return s.last.resolution() }

// Coverage says how much was read by the last call of Keys.
func (s *FileSource) Coverage() []Coverage { return []Coverage{s.coverage} }
