package rdb

import (
	"errors"
	"fmt"
	"io"
)

// ErrClosed is returned by Next after Close.
var ErrClosed = errors.New("rdb: reader closed")

// ErrChecksum is the cause of the *Error that Next returns after the last
// entry when the checksum stored in the dump is not that of its bytes.
var ErrChecksum = errors.New("checksum does not match: the dump is damaged, and any of its keys or expiries may be wrong")

// ErrNotRDB is the cause of the *Error for input without an RDB magic.
var ErrNotRDB = errors.New("not an RDB file")

// An Error says why a dump could not be read on, and where. The entries
// before it are good.
type Error struct {
	Offset int64 // bytes from the magic, in the uncompressed dump
	Err    error // io.ErrUnexpectedEOF when the dump is cut off
}

func (e *Error) Error() string {
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("the dump is cut off (at byte %d), so the keys behind are missing", e.Offset)
	}
	return fmt.Sprintf("%v (at byte %d of the dump)", e.Err, e.Offset)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
