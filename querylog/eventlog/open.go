package eventlog

import (
	"bufio"
	"bytes"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Open opens a file, or stdin for "-", and unpacks gzip and zstd, which it
// knows by their first bytes.
func Open(path string, stdin io.Reader) (io.ReadCloser, error) {
	var raw io.ReadCloser = io.NopCloser(stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		raw = f
	}
	in := bufio.NewReaderSize(raw, 1<<16)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		raw.Close()
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			raw.Close()
			return nil, err
		}
		return unpacked{z, raw}, nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			raw.Close()
			return nil, err
		}
		return unpacked{z.IOReadCloser(), raw}, nil
	default:
		return unpacked{io.NopCloser(in), raw}, nil
	}
}

// unpacked closes the file below a reader with it.
type unpacked struct {
	io.ReadCloser
	below io.Closer
}

func (u unpacked) Close() error {
	err := u.ReadCloser.Close()
	if e := u.below.Close(); err == nil {
		err = e
	}
	return err
}
