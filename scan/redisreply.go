package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A replyBuffer collects raw replies as the client streams them. Reading a bulk string costs no buffer of its own,
// because io.Copy prefers ReadFrom.
type replyBuffer struct{ b []byte }

func (r *replyBuffer) Write(p []byte) (int, error) {
	r.b = append(r.b, p...)
	return len(p), nil
}

// ReadFrom implements io.ReaderFrom.
func (r *replyBuffer) ReadFrom(src io.Reader) (int64, error) {
	start := len(r.b)
	for {
		if len(r.b) == cap(r.b) {
			r.b = append(r.b, 0)[:len(r.b)]
		}
		n, err := src.Read(r.b[len(r.b):cap(r.b)])
		r.b = r.b[:len(r.b)+n]
		if err == io.EOF {
			return int64(len(r.b) - start), nil
		}
		if err != nil {
			return int64(len(r.b) - start), err
		}
	}
}

func (r *replyBuffer) reset() { r.b = r.b[:0] }

// A replyError is an error reply of the server, for example "NOPERM this user has no permissions ...".
type replyError string

func (e replyError) Error() string { return string(e) }

var errReply = errors.New("the reply is not what the command should give")

// A replyParser reads RESP2 replies from memory. It allocates nothing but errors.
type replyParser struct{ rest []byte }

func (p *replyParser) line() (byte, []byte, error) {
	end := bytes.IndexByte(p.rest, '\n')
	if end < 2 || p.rest[end-1] != '\r' {
		return 0, nil, errReply
	}
	kind, text := p.rest[0], p.rest[1:end-1]
	p.rest = p.rest[end+1:]
	return kind, text, nil
}

// number reads an integer reply; an error reply is returned as replyError.
func (p *replyParser) number() (int64, error) {
	kind, text, err := p.line()
	if err != nil {
		return 0, err
	}
	switch kind {
	case ':':
		return replyInt(text)
	case '-':
		return 0, replyError(text)
	}
	return 0, fmt.Errorf("%w: %.20q", errReply, text)
}

// array reads the head of an array reply and returns its length.
func (p *replyParser) array() (int, error) {
	kind, text, err := p.line()
	if err != nil {
		return 0, err
	}
	if kind == '-' {
		return 0, replyError(text)
	}
	n, err := replyInt(text)
	if kind != '*' || err != nil || n < 0 {
		return 0, errReply
	}
	return int(n), nil
}

// bulk reads a bulk string. It is a part of the parser's input.
func (p *replyParser) bulk() ([]byte, error) {
	kind, text, err := p.line()
	if err != nil {
		return nil, err
	}
	if kind == '-' {
		return nil, replyError(text)
	}
	if kind == '+' {
		return text, nil
	}
	n, err := replyInt(text)
	if kind != '$' || err != nil || n < 0 || n > int64(len(p.rest))-2 {
		return nil, errReply
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n+2:]
	return b, nil
}

func replyInt(text []byte) (int64, error) {
	negative := len(text) > 0 && text[0] == '-'
	digits := text
	if negative {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return 0, errReply
		}
		return n, nil
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errReply
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, nil
}

// scanReply appends the names in a reply to SCAN to names and returns the next cursor. The names are parts of raw.
func scanReply(raw []byte, names [][]byte) (cursor []byte, _ [][]byte, err error) {
	p := replyParser{raw}
	if n, err := p.array(); err != nil || n != 2 {
		return nil, names, orReplyError(err)
	}
	if cursor, err = p.bulk(); err != nil {
		return nil, names, err
	}
	n, err := p.array()
	if err != nil {
		return nil, names, err
	}
	for range n {
		name, err := p.bulk()
		if err != nil {
			return nil, names, err
		}
		names = append(names, name)
	}
	return cursor, names, nil
}

func orReplyError(err error) error {
	if err == nil {
		return errReply
	}
	return err
}

// time reads a reply to TIME.
func (p *replyParser) time() (time.Time, error) {
	if n, err := p.array(); err != nil || n != 2 {
		return time.Time{}, orReplyError(err)
	}
	var parts [2]int64
	for i := range parts {
		text, err := p.bulk()
		if err != nil {
			return time.Time{}, err
		}
		if parts[i], err = replyInt(text); err != nil {
			return time.Time{}, err
		}
	}
	return time.Unix(parts[0], parts[1]*1000), nil
}
