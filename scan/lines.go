package scan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is looked at. Longer ones are passed over and counted.
const maxLine = 1 << 20

// A lineReader reads lines of any length in bounded memory and counts them.
type lineReader struct {
	r    *bufio.Reader
	line int  // number of the last line
	cut  bool // the last line has no end: the input may be cut off there
	buf  []byte
}

// next returns the next line without its end. It is valid until the next call, and may be written to. The error is
// io.EOF at the end, a *RecordError for a line that is too long, or that of the reader.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.long(line)
	}
	l.line++
	switch {
	case errors.Is(err, io.EOF) && len(line) > 0:
		l.cut = true
	case err != nil:
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if l.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if len(line) > maxLine {
		return nil, l.fail(fmt.Errorf("longer than %d bytes", maxLine))
	}
	return line, nil
}

// long collects a line that did not fit into the reader's buffer: all of it up to maxLine, the rest only in length.
func (l *lineReader) long(part []byte) ([]byte, error) {
	l.buf = append(l.buf[:0], part...)
	for {
		part, err := l.r.ReadSlice('\n')
		if room := maxLine + 2 - len(l.buf); room > 0 {
			l.buf = append(l.buf, part[:min(len(part), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.buf, err
		}
	}
}

// fail returns an error for the last line.
func (l *lineReader) fail(err error) error { return &RecordError{Line: l.line, Err: err} }
