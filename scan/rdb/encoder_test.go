package rdb_test

import (
	"encoding/binary"
	"hash/crc64"
)

// A dump builds RDB files of versions and types that the servers at hand do
// not write.
type dump struct{ b []byte }

func newDump(magic string) *dump { return &dump{b: []byte(magic)} }

// raw appends bytes and strings as they are, and integers as single bytes.
func (d *dump) raw(parts ...any) *dump {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			d.b = append(d.b, byte(p))
		case string:
			d.b = append(d.b, p...)
		case []byte:
			d.b = append(d.b, p...)
		}
	}
	return d
}

// len appends a length in the shortest form.
func (d *dump) len(n uint64) *dump {
	switch {
	case n < 64:
		d.b = append(d.b, byte(n))
	case n < 1<<14:
		d.b = append(d.b, byte(n>>8)|0x40, byte(n))
	case n < 1<<32:
		d.b = binary.BigEndian.AppendUint32(append(d.b, 0x80), uint32(n))
	default:
		d.b = binary.BigEndian.AppendUint64(append(d.b, 0x81), n)
	}
	return d
}

func (d *dump) lens(ns ...uint64) *dump {
	for _, n := range ns {
		d.len(n)
	}
	return d
}

func (d *dump) str(ss ...string) *dump {
	for _, s := range ss {
		d.len(uint64(len(s))).raw(s)
	}
	return d
}

// u64 appends eight bytes, least first, as times are stored.
func (d *dump) u64(v int64) *dump {
	d.b = binary.LittleEndian.AppendUint64(d.b, uint64(v))
	return d
}

func (d *dump) aux(key, value string) *dump { return d.raw(250).str(key, value) }

// expire appends an expiry in milliseconds for the key that follows.
func (d *dump) expire(ms int64) *dump { return d.raw(252).u64(ms) }

// key appends a string key, so that a test can see that the reader found its
// place again behind another value.
func (d *dump) key(name string) *dump { return d.raw(0).str(name, "v") }

// end closes the dump with its checksum.
func (d *dump) end() []byte {
	d.raw(255)
	return binary.LittleEndian.AppendUint64(d.b, checksum(d.b))
}

// checksum is CRC-64 as Redis computes it: not inverted at either end.
func checksum(b []byte) uint64 {
	return ^crc64.Update(^uint64(0), crc64.MakeTable(0x95ac9329ac4bc9b5), b)
}
