package lint

import (
	"sort"
	"unicode/utf8"
)

// markEvery is the distance, in code points, of the marks of a runeIndex.
const markEvery = 256

// A runeIndex converts between bytes and code points of one text without
// reading it from the start again: lines may be as long as the file.
type runeIndex struct {
	data  []byte
	marks []int // byte offset of every 256th code point
}

func newRuneIndex(data []byte) *runeIndex {
	x := &runeIndex{data: data}
	n := 0
	for off := 0; off < len(data); n++ {
		if n%markEvery == 0 {
			x.marks = append(x.marks, off)
		}
		off += runeLen(data[off:])
	}
	return x
}

// runes returns the number of code points before a byte.
func (x *runeIndex) runes(off int) int {
	k := sort.SearchInts(x.marks, off+1) - 1
	if k < 0 {
		return 0
	}
	n := k * markEvery
	for at := x.marks[k]; at < off; n++ {
		at += runeLen(x.data[at:])
	}
	return n
}

// offset returns the byte where the n-th code point (from 0) begins; the
// text's length when it has no more than n.
func (x *runeIndex) offset(n int) int {
	k := n / markEvery
	if n < 0 || len(x.marks) == 0 {
		return 0
	}
	if k >= len(x.marks) {
		return len(x.data)
	}
	off := x.marks[k]
	for i := k * markEvery; i < n && off < len(x.data); i++ {
		off += runeLen(x.data[off:])
	}
	return off
}

// runeLen is the length of the first code point; a byte that is no UTF-8
// counts as one.
func runeLen(b []byte) int {
	if b[0] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRune(b)
	return size
}
