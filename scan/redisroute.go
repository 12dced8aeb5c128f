package scan

import (
	"errors"
	"math/bits"
	"strconv"
)

// A route decides where a chain starts, where it goes on after each page, and where it ends. It is used by one
// goroutine.
//
// SCAN goes through the buckets of the hash table in the order of their bit-reversed numbers: the position of a
// cursor is its value with all 64 bits reversed, and each page covers the positions from its cursor to the next.
// Redis does not promise this, so only servers known to do it are walked by another route than the whole.
type route interface {
	// first is the cursor of the first page.
	first() string
	// after takes the cursor in the reply to a page and returns that of the next page, or done.
	after(cursor string, listed int) (next string, done bool, err error)
	// pageKeys is the COUNT of the next page, 0 for what the pacer says.
	pageKeys() int
	// keep tells whether a listed key belongs to this route.
	keep(name []byte) bool
}

// errForeignCursors says that the cursors are not those of a hash table walked in bit-reversed order.
var errForeignCursors = errors.New("the server's cursors are not those of a Redis hash table")

// plausible reports whether a page of so many keys went as far through the positions as it should, given the number
// of keys there are. Cursors of another kind jump all over the place.
func plausible(from, to uint64, listed int, keys uint64) bool {
	const tolerance = 4 // for sparse tables and for a size that changed meanwhile
	went := float64(to-from) / (1 << 64)
	expected := float64(max(listed, 10)) / float64(max(keys, 1))
	return went > 0 && went < expected*tolerance && went*tolerance > expected*min(1, float64(listed)/10)
}

// wholeRoute goes from the first bucket to the last.
type wholeRoute struct{}

func (wholeRoute) first() string { return "0" }

func (wholeRoute) after(cursor string, _ int) (string, bool, error) {
	return cursor, cursor == "0", nil
}

func (wholeRoute) pageKeys() int { return 0 }

func (wholeRoute) keep([]byte) bool { return true }

// A divisionRoute is one of 2^m equal parts of the whole. The buckets whose numbers end in the same m bits are
// neighbours, so it begins at the bit-reversed number of the part and ends when the last m bits of the cursor change.
type divisionRoute struct {
	wholeRoute
	mask, start uint64
	keys        uint64 // in the whole
	begun       bool
}

func newDivisionRoute(index, count int, keys uint64) *divisionRoute {
	m := bits.Len(uint(count)) - 1
	return &divisionRoute{mask: uint64(count) - 1, start: bits.Reverse64(uint64(index)) >> (64 - m), keys: keys}
}

func (r *divisionRoute) first() string { return strconv.FormatUint(r.start, 10) }

func (r *divisionRoute) after(cursor string, listed int) (string, bool, error) {
	n, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil {
		return "", false, errForeignCursors
	}
	if !r.begun && !plausible(bits.Reverse64(r.start), bits.Reverse64(n), listed, r.keys) {
		return "", false, errForeignCursors
	}
	r.begun = true
	return cursor, n == 0 || n&r.mask != r.start, nil
}

// windowKeys is the COUNT of one window of a sample. Whole buckets are listed, so very small windows favour keys in
// full buckets; a hundred keys even that out.
const windowKeys = 100

// checkedWindows is how many windows are checked for plausible cursors. Later the table may have changed its size.
const checkedWindows = 8

// A windowRoute reads one page at each of many positions. The positions are evenly spaced after a common random
// start, so every position is as likely to be read as any other, and windows do not overlap.
type windowRoute struct {
	wholeRoute
	starts  []uint64 // positions
	keys    uint64   // in the whole
	current int
	left    int     // keys still wanted for a window that reached the end of the table and goes on at its beginning
	covered float64 // share of all positions, 0-1
	from    uint64  // position of the page asked for
}

func newWindowRoute(starts []uint64, keys uint64) *windowRoute {
	return &windowRoute{starts: starts, keys: keys, from: starts[0], left: windowKeys}
}

func (r *windowRoute) first() string { return cursorAt(r.starts[0]) }

func (r *windowRoute) pageKeys() int { return r.left }

func (r *windowRoute) after(cursor string, listed int) (string, bool, error) {
	n, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil || n != 0 && r.current < checkedWindows && !plausible(r.from, bits.Reverse64(n), listed, r.keys) {
		return "", false, errForeignCursors
	}
	// At the end of the table the difference wraps to what was left of it.
	r.covered += float64(bits.Reverse64(n)-r.from) / (1 << 64)
	if n == 0 && r.from == 0 {
		r.covered++ // the whole table fits into one window
	}
	if r.left -= listed; n == 0 && r.left > 0 && r.from != 0 {
		r.from = 0
		return "0", false, nil
	}
	r.current++
	if r.current == len(r.starts) {
		return "", true, nil
	}
	r.from, r.left = r.starts[r.current], windowKeys
	return cursorAt(r.from), false, nil
}

func cursorAt(position uint64) string { return strconv.FormatUint(bits.Reverse64(position), 10) }

// A slotRoute reads all keys of some slots of a cluster that keeps one hash table for each slot, and has the slot's
// number in the low 14 bits of its cursors.
type slotRoute struct {
	wholeRoute
	slots   []int
	current int
}

func (r *slotRoute) first() string { return strconv.Itoa(r.slots[0]) }

func (r *slotRoute) after(cursor string, _ int) (string, bool, error) {
	n, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil {
		return "", false, errForeignCursors
	}
	if n != 0 && int(n%clusterSlots) == r.slots[r.current] {
		return cursor, false, nil
	}
	r.current++
	if r.current == len(r.slots) {
		return "", true, nil
	}
	return strconv.Itoa(r.slots[r.current]), false, nil
}

// keep drops the keys of the next slot, into which a page may run.
func (r *slotRoute) keep(name []byte) bool { return KeySlot(name) == r.slots[r.current] }
