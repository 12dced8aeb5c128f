package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// maxKey is the longest string a server can hold.
const maxKey = 512 << 20

// Encodings of a string whose length has both top bits set.
const (
	encInt8  = 0
	encInt16 = 1
	encInt32 = 2
	encLZF   = 3
)

var errLength = errors.New("damaged length")

// length reads a length, or the encoding of a string when enc is true.
func (r *Reader) length() (n uint64, enc bool) {
	b := r.in.byte()
	switch b >> 6 {
	case 0:
		return uint64(b), false
	case 1:
		return uint64(b&0x3f)<<8 | uint64(r.in.byte()), false
	case 3:
		return uint64(b & 0x3f), true
	}
	switch b {
	case 0x80:
		if p := r.in.need(4); p != nil {
			return uint64(binary.BigEndian.Uint32(p)), false
		}
	case 0x81:
		if p := r.in.need(8); p != nil {
			return binary.BigEndian.Uint64(p), false
		}
	default:
		r.in.fail(errLength)
	}
	return 0, false
}

// count reads a length that can't be an encoding.
func (r *Reader) count() uint64 {
	n, enc := r.length()
	if enc {
		r.in.fail(errLength)
		return 0
	}
	return n
}

// skipLengths passes over n lengths.
func (r *Reader) skipLengths(n int) {
	for ; n > 0; n-- {
		r.count()
	}
}

// ms reads a time in milliseconds.
func (r *Reader) ms() int64 {
	if p := r.in.need(8); p != nil {
		return int64(binary.LittleEndian.Uint64(p))
	}
	return 0
}

// skipString passes over a string in any encoding.
func (r *Reader) skipString() {
	n, enc := r.length()
	if !enc {
		r.in.skip(n)
		return
	}
	switch n {
	case encInt8:
		r.in.skip(1)
	case encInt16:
		r.in.skip(2)
	case encInt32:
		r.in.skip(4)
	case encLZF:
		packed := r.count()
		r.count()
		r.in.skip(packed)
	default:
		r.in.fail(fmt.Errorf("unknown string encoding %d", n))
	}
}

// skipStrings passes over n strings.
func (r *Reader) skipStrings(n uint64) {
	for ; n > 0 && r.in.err == nil; n-- {
		r.skipString()
	}
}

// appendString appends a string in any encoding, at most maxKey bytes, to dst.
func (r *Reader) appendString(dst []byte) []byte {
	n, enc := r.length()
	if !enc {
		if n > maxKey {
			r.in.fail(errLength)
			return dst
		}
		if in := r.in; n <= uint64(len(in.data)-in.pos) {
			in.pos += int(n)
			return append(dst, in.data[in.pos-int(n):in.pos]...)
		}
		return r.in.append(dst, n)
	}
	switch n {
	case encInt8:
		return strconv.AppendInt(dst, int64(int8(r.in.byte())), 10)
	case encInt16:
		if p := r.in.need(2); p != nil {
			return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(p))), 10)
		}
	case encInt32:
		if p := r.in.need(4); p != nil {
			return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(p))), 10)
		}
	case encLZF:
		return r.appendPacked(dst)
	default:
		r.in.fail(fmt.Errorf("unknown string encoding %d", n))
	}
	return dst
}

func (r *Reader) appendPacked(dst []byte) []byte {
	packed, n := r.count(), r.count()
	if packed > maxKey || n > maxKey {
		r.in.fail(errLength)
		return dst
	}
	r.packed = r.in.append(r.packed[:0], packed)
	if r.in.err != nil {
		return dst
	}
	dst, err := appendLZF(dst, r.packed, int(n))
	if err != nil {
		r.in.fail(err)
	}
	return dst
}
