package querylog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Source is one input: a file, standard input, or anything that can be read.
type Source struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// FileSource reads a file.
func FileSource(path string) Source {
	return Source{Name: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

// ReaderSource reads r, once.
func ReaderSource(name string, r io.Reader) Source {
	return Source{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
}

// ErrNoLogs says that a directory holds no query log.
var ErrNoLogs = errors.New("no query log in this directory")

// Files returns a Source for each path; of a directory, for each query log in it.
func Files(paths ...string) ([]Source, error) {
	var out []Source
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !st.IsDir() {
			out = append(out, FileSource(p))
			continue
		}
		in, err := logsIn(p)
		if err != nil {
			return nil, err
		}
		out = append(out, in...)
	}
	return out, nil
}

// logsIn lists the query logs of a directory by content, not by name.
func logsIn(dir string) ([]Source, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []Source
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		s := FileSource(filepath.Join(dir, e.Name()))
		in, err := openInput(s)
		if err != nil {
			continue
		}
		empty := in.empty
		in.Close()
		if !empty {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoLogs)
	}
	return out, nil
}

// input is an opened, decompressed, unwrapped and recognised source.
type input struct {
	detected
	name   string
	r      io.Reader
	close  []func() error
	unwrap *unwrapper
	empty  bool
}

// Close closes the file and the decompressors.
func (in *input) Close() error {
	var errs []error
	for _, f := range slices.Backward(in.close) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// openInput opens a source and recognises what is in it.
func openInput(s Source) (*input, error) {
	f, err := s.Open()
	if err != nil {
		return nil, err
	}
	in := &input{name: s.Name, close: []func() error{f.Close}}
	if err := in.open(f); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (in *input) open(f io.Reader) error {
	r, err := in.decompress(f)
	if err != nil {
		return err
	}
	in.r = r
	if err := in.recognise(false); err != nil {
		return err
	}
	if in.wrap == bare {
		return nil
	}
	in.unwrap = unwrap(in.r, in.detected)
	in.r = in.unwrap
	return in.recognise(true)
}

// recognise looks at the beginning of the input.
func (in *input) recognise(wrapped bool) error {
	br := bufio.NewReaderSize(in.r, sniffBytes)
	head, err := br.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	if err == nil { // reading on from below the buffer saves a copy of the whole log
		in.r = io.MultiReader(bytes.NewReader(bytes.Clone(head)), in.r)
	} else {
		in.r = br
	}
	in.empty = len(bytes.TrimSpace(head)) == 0
	d, err := detect(in.name, head, wrapped)
	if err != nil {
		return err
	}
	if wrapped {
		d.wrap = in.wrap
	}
	in.detected = d
	return nil
}

// decompress recognises gzip and zstd by their first bytes.
func (in *input) decompress(f io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(f, 64<<10)
	magic, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.name, err)
		}
		in.close = append(in.close, z.Close)
		return z, nil
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.name, err)
		}
		in.close = append(in.close, func() error { z.Close(); return nil })
		return z, nil
	}
	return br, nil
}

// Order sorts sources by the time of their first record, so that rotated
// files are read in the order in which they were written. Sources without a
// time keep their place behind the others. A source that can be read only
// once must not be given.
func Order(ctx context.Context, sources []Source, o Options) []Source {
	type timed struct {
		Source
		first int64
		has   bool
	}
	list := make([]timed, len(sources))
	for i, s := range sources {
		list[i] = timed{Source: s}
		list[i].first, list[i].has = firstTime(ctx, s, o)
	}
	slices.SortStableFunc(list, func(a, b timed) int {
		switch {
		case a.has != b.has && a.has:
			return -1
		case a.has != b.has:
			return 1
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	out := make([]Source, len(list))
	for i, t := range list {
		out[i] = t.Source
	}
	return out
}

// firstTime reads up to the first record that has a time.
func firstTime(ctx context.Context, s Source, o Options) (int64, bool) {
	o.BlockSize = 64 << 10
	r, err := NewReader(s, o)
	if err != nil {
		return 0, false
	}
	defer r.Close()
	for range 1000 {
		if ctx.Err() != nil {
			return 0, false
		}
		e, err := r.Read()
		var pe *ParseError
		if errors.As(err, &pe) {
			continue
		}
		if err != nil {
			return 0, false
		}
		if e.Has&HasTime != 0 {
			return e.Time.UnixNano(), true
		}
	}
	return 0, false
}
