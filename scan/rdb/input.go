package rdb

import (
	"errors"
	"hash/crc64"
	"io"
	"sync"
)

const (
	blockSize = 256 << 10
	// headroom is the space before a block's own bytes. The unread rest of
	// the block before is copied there, so that a short item is always
	// contiguous. It bounds what need can return.
	headroom = 64
	nBlocks  = 4
)

// jones is the polynomial of the CRC-64 in RDB files, bit-reversed as
// hash/crc64 wants it.
const jones = 0x95ac9329ac4bc9b5

// A block is a piece of the dump. Its bytes begin at buf[headroom].
type block struct {
	buf []byte
	n   int
	sum uint64 // state of the checksum before this block
	err error  // why the dump ends after this block; io.EOF at its end
}

// An input hands out a byte stream that another goroutine reads ahead and
// checksums. Its error is sticky: after the first one every read returns zero
// values, so that a caller can check once per loop.
type input struct {
	full, free chan *block
	quit       chan struct{}
	closeOnce  sync.Once

	table *crc64.Table // nil: no checksum wanted
	cur   *block
	data  []byte // what is left of the block before, and the block
	pos   int    // the next byte in data
	own   int    // where the block's own bytes begin in data
	base  int64  // offset of data[0] in the stream
	err   error
}

func newInput(r io.Reader, checksum bool) *input {
	in := &input{
		full: make(chan *block, nBlocks),
		free: make(chan *block, nBlocks),
		quit: make(chan struct{}),
	}
	if checksum {
		in.table = crc64.MakeTable(jones)
	}
	for range nBlocks {
		in.free <- &block{buf: make([]byte, headroom+blockSize)}
	}
	go in.readAhead(r)
	return in
}

func (in *input) close() {
	in.closeOnce.Do(func() { close(in.quit) })
}

// readAhead fills blocks until the stream ends or close is called.
func (in *input) readAhead(r io.Reader) {
	// Redis starts its CRC at zero and does not invert it; hash/crc64 does
	// both, so the state is kept inverted.
	sum := ^uint64(0)
	for {
		var b *block
		select {
		case b = <-in.free:
		case <-in.quit:
			return
		}
		// Whatever is there is passed on: a stream from a master stays open behind the dump.
		b.n, b.err = io.ReadAtLeast(r, b.buf[headroom:], 1)
		b.sum = sum
		if in.table != nil {
			sum = crc64.Update(sum, in.table, b.buf[headroom:headroom+b.n])
		}
		// A block that ends the stream may be the last thing this goroutine
		// touches: it belongs to the consumer once sent.
		last := b.err != nil
		select {
		case in.full <- b:
		case <-in.quit:
			return
		}
		if last {
			return
		}
	}
}

// offset returns the position of the next byte in the stream.
func (in *input) offset() int64 { return in.base + int64(in.pos) }

// checksum returns the CRC-64 of everything before the next byte.
func (in *input) checksum() uint64 {
	return ^crc64.Update(in.cur.sum, in.table, in.data[in.own:in.pos])
}

// fill appends the next block to the unread rest of data, which must fit into
// the headroom. It returns false and sets the error when there is none.
func (in *input) fill() bool {
	if in.err != nil {
		return false
	}
	if in.cur != nil && in.cur.err != nil {
		in.err = in.cur.err
		if errors.Is(in.err, io.EOF) {
			in.err = io.ErrUnexpectedEOF
		}
		return false
	}
	select {
	case <-in.quit: // closed: whatever was read ahead is not wanted
		in.err = ErrClosed
		return false
	default:
	}
	var b *block
	select {
	case b = <-in.full:
	case <-in.quit:
		in.err = ErrClosed
		return false
	}
	rest := in.data[in.pos:]
	start := headroom - len(rest)
	copy(b.buf[start:], rest)
	in.base += int64(in.pos)
	in.data, in.pos, in.own = b.buf[start:headroom+b.n], 0, len(rest)
	if in.cur != nil {
		in.free <- in.cur // never blocks: it has room for all blocks
	}
	in.cur = b
	return true
}

// need returns the next n bytes, n <= headroom. They are valid until the next
// call. On error it returns nil.
func (in *input) need(n int) []byte {
	for len(in.data)-in.pos < n {
		if !in.fill() {
			return nil
		}
	}
	b := in.data[in.pos : in.pos+n]
	in.pos += n
	return b
}

// byte returns the next byte, or 0 on error.
func (in *input) byte() byte {
	if in.pos == len(in.data) {
		if !in.more() {
			return 0
		}
	}
	b := in.data[in.pos]
	in.pos++
	return b
}

// more makes sure that at least one byte is there.
func (in *input) more() bool {
	for in.pos == len(in.data) {
		if !in.fill() {
			return false
		}
	}
	return in.err == nil
}

// peek returns the next byte without taking it; false at the end or on error.
func (in *input) peek() (byte, bool) {
	if !in.more() {
		return 0, false
	}
	return in.data[in.pos], true
}

// skip passes over n bytes.
func (in *input) skip(n uint64) {
	for {
		have := uint64(len(in.data) - in.pos)
		if n <= have {
			in.pos += int(n)
			return
		}
		n -= have
		in.pos = len(in.data)
		if !in.fill() {
			return
		}
	}
}

// append adds the next n bytes to dst. It grows dst as bytes arrive, so that
// a false length can't make it allocate more than the dump holds.
func (in *input) append(dst []byte, n uint64) []byte {
	for n > 0 && in.more() {
		take := min(n, uint64(len(in.data)-in.pos))
		dst = append(dst, in.data[in.pos:in.pos+int(take)]...)
		in.pos += int(take)
		n -= take
	}
	return dst
}

// fail sets the error if there is none yet.
func (in *input) fail(err error) {
	if in.err == nil {
		in.err = err
	}
}
