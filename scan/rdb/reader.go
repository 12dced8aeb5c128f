package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// NoExpiry stands for the expiry of a key, or of the fields of a hash, that
// never expires.
const NoExpiry = -1

// An Entry is one key of a dump.
type Entry struct {
	Key           []byte        // valid until the next call of Next
	DB            int           // number of the database
	ExpireMS      int64         // absolute, Unix milliseconds; NoExpiry
	FieldExpireMS int64         // earliest expiry of a hash field; NoExpiry
	Idle          time.Duration // whole seconds since the last access, when HasIdle
	HasIdle       bool          // the server evicted by LRU
	Freq          uint8         // logarithmic access counter, when HasFreq
	HasFreq       bool          // the server evicted by LFU
	Type          string        // as TYPE answers: "string", "hash", "stream", "ReJSON-RL", ...
}

// Info is what a dump says about itself. The fields that older versions don't
// store are zero.
type Info struct {
	Valkey        bool      // the magic was VALKEY
	Version       int       // of the format: 1 to 16, 80, 81
	ServerVersion string    // "7.0.15"
	Created       time.Time // when the dump was written, whole seconds
	UsedMemory    uint64    // bytes, of the server when it wrote the dump
	AOFBase       bool      // the dump is the base of an append-only file
	KeysHint      uint64    // keys announced by the databases read so far
	Updates       uint64    // commands between the keys that were not applied
}

// Format returns the magic and the version: "REDIS0010", "VALKEY080".
func (i Info) Format() string {
	if i.Valkey {
		return fmt.Sprintf("VALKEY%03d", i.Version)
	}
	return fmt.Sprintf("REDIS%04d", i.Version)
}

// Newer reports whether the format is newer than this package knows. Such a
// dump is read all the same, until something unknown turns up.
func (i Info) Newer() bool {
	if i.Valkey {
		return i.Version > newestValkey
	}
	return i.Version > newestRedis
}

// Options for NewReader. The zero value is ready.
type Options struct {
	// SkipChecksum leaves the dump's checksum unread. Checking it costs the
	// goroutine that reads ahead about 0.6 s a GB, and so no time where a
	// second core is free and whoever takes the entries needs as long.
	SkipChecksum bool
}

// A Reader reads the keys of one dump. It reads ahead in a goroutine of its
// own, which ends with the dump or with Close. Its memory is about 1 MiB.
type Reader struct {
	in   *input
	info Info
	opts Options
	done error // what Next returns from now on

	db                int
	expireMS          int64
	idle              time.Duration
	freq              uint8
	hasIdle, hasFreq  bool
	key, packed, text []byte
	moduleID          uint64
	module            string
	templates         map[uint64]uint64 // fields per hash template
	fieldExpire       int64             // of KeyDB, from the last AUX field
}

// NewReader reads the head of a dump, up to its first key. The first byte of
// src must be that of the magic. The error is an *Error; a Reader is returned
// with it only when the head itself was good. The caller must call Close.
func NewReader(src io.Reader, o Options) (*Reader, error) {
	r := &Reader{in: newInput(src, !o.SkipChecksum), opts: o, expireMS: NoExpiry}
	if err := r.readMagic(); err != nil {
		r.Close()
		return nil, &Error{Offset: 0, Err: err}
	}
	for r.in.err == nil {
		op, ok := r.in.peek()
		if !ok || !isHead(op) {
			break
		}
		r.in.byte()
		r.opcode(op)
	}
	if r.in.err != nil {
		r.done = r.failure()
		return r, r.done
	}
	return r, nil
}

// isHead reports whether an opcode may stand before the first key without
// belonging to it.
func isHead(op byte) bool {
	switch op {
	case opAux, opModuleAux, opFunction, opFunction2, opSelectDB, opResizeDB:
		return true
	}
	return false
}

// Info returns what the dump has said about itself so far.
func (r *Reader) Info() Info { return r.info }

// Offset returns how many bytes of the dump have been read.
func (r *Reader) Offset() int64 { return r.in.offset() }

// Close ends the reading ahead. A Next that waits for input returns ErrClosed.
// It may be called from any goroutine, and more than once.
func (r *Reader) Close() { r.in.close() }

// Next reads the next key into e. It returns io.EOF after the last key of a
// complete dump, or an *Error.
func (r *Reader) Next(e *Entry) error {
	if r.done != nil {
		return r.done
	}
	for r.in.err == nil {
		op := r.in.byte()
		switch {
		case r.in.err != nil:
		case op == opEOF:
			r.done = r.finish()
			return r.done
		case op >= dragonflyOpFirst:
			r.opcode(op)
		default:
			if r.entry(op, e) {
				return nil
			}
		}
	}
	r.done = r.failure()
	return r.done
}

func (r *Reader) failure() error {
	if errors.Is(r.in.err, ErrClosed) {
		return ErrClosed
	}
	return &Error{Offset: r.in.offset(), Err: r.in.err}
}

// entry reads a key and passes over its value. It returns false on error.
func (r *Reader) entry(typ byte, e *Entry) bool {
	r.key = r.appendString(r.key[:0])
	*e = Entry{
		Key: r.key, DB: r.db, ExpireMS: r.expireMS, FieldExpireMS: NoExpiry,
		Idle: r.idle, HasIdle: r.hasIdle, Freq: r.freq, HasFreq: r.hasFreq,
	}
	r.skipValue(typ, e)
	r.expireMS, r.idle, r.hasIdle, r.freq, r.hasFreq = NoExpiry, 0, false, 0, false
	if r.in.err != nil {
		return false
	}
	// KeyDB writes the expiries of members behind the key they belong to.
	for op, ok := r.in.peek(); ok && op == opAux; op, ok = r.in.peek() {
		r.in.byte()
		r.fieldExpire = NoExpiry
		r.readAux()
		e.FieldExpireMS = earlier(e.FieldExpireMS, r.fieldExpire)
	}
	return true // an error in what follows is met by the next call
}

// opcode reads what follows an opcode other than the end.
func (r *Reader) opcode(op byte) {
	switch op {
	case opExpireMS:
		r.expireMS = r.ms()
	case opExpire:
		if p := r.in.need(4); p != nil {
			r.expireMS = int64(binary.LittleEndian.Uint32(p)) * 1000
		}
	case opIdle:
		r.idle, r.hasIdle = time.Duration(min(r.count(), maxIdle))*time.Second, true
	case opFreq:
		r.freq, r.hasFreq = r.in.byte(), true
	case opSelectDB:
		r.db = int(min(r.count(), maxDB))
	case opResizeDB:
		r.info.KeysHint += r.count()
		r.count()
	case opAux:
		r.readAux()
	case opSlotInfo:
		r.skipLengths(3)
	case opFunction2:
		r.skipString()
	case opFunction:
		r.skipPreGAFunction()
	case opModuleAux:
		r.skipLengths(3)
		r.skipModule()
	case opKeyMeta: // and opSlotImp
		r.opcode243()
	case opTemplate: // and opUpdate
		r.opcode242()
	default:
		if op <= dragonflyOpLast {
			r.in.fail(fmt.Errorf("opcode %d of Dragonfly, whose snapshots herdscan can't read; "+
				"scan the server instead", op))
			return
		}
		r.unknown("opcode", op)
	}
}

const (
	maxIdle = 1 << 33 // seconds; keeps a damaged idle time inside a time.Duration
	maxDB   = 1<<31 - 1
)

func (r *Reader) opcode243() {
	if !r.info.Valkey {
		r.skipKeyMeta()
		return
	}
	r.skipString()
	for n := r.count(); n > 0 && r.in.err == nil; n-- {
		r.skipLengths(2)
	}
}

func (r *Reader) opcode242() {
	if r.info.Valkey {
		r.skipUpdate()
		r.info.Updates++
		return
	}
	r.readTemplate()
}

// skipPreGAFunction passes over a function library of a Redis 7.0 release
// candidate: name, engine, an optional description, code.
func (r *Reader) skipPreGAFunction() {
	r.skipStrings(2)
	if r.count() != 0 {
		r.skipString()
	}
	r.skipString()
}

// readMagic reads "REDIS" and four digits, or "VALKEY" and three.
func (r *Reader) readMagic() error {
	head := r.in.need(9)
	if head == nil {
		if errors.Is(r.in.err, io.ErrUnexpectedEOF) {
			return ErrNotRDB
		}
		return r.in.err
	}
	digits, ok := strings.CutPrefix(string(head), "REDIS")
	if !ok {
		digits, r.info.Valkey = strings.CutPrefix(string(head), "VALKEY")
		if !r.info.Valkey {
			return ErrNotRDB
		}
	}
	v, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || v == 0 {
		return ErrNotRDB
	}
	r.info.Version = int(v)
	return nil
}

// maxAux is the longest AUX field that is looked at.
const maxAux = 4 << 10

// readAux reads a name and a value.
func (r *Reader) readAux() {
	r.text = r.appendShort(r.text[:0])
	name := len(r.text)
	r.text = r.appendShort(r.text)
	value := string(r.text[name:])
	switch string(r.text[:name]) {
	case "redis-ver", "valkey-ver":
		r.info.ServerVersion = value
	case "ctime":
		if sec, err := strconv.ParseInt(value, 10, 64); err == nil && sec > 0 {
			r.info.Created = time.Unix(sec, 0)
		}
	case "used-mem":
		r.info.UsedMemory, _ = strconv.ParseUint(value, 10, 64)
	case "aof-preamble", "aof-base":
		r.info.AOFBase = r.info.AOFBase || value == "1"
	case "keydb-subexpire-when":
		if ms, err := strconv.ParseInt(value, 10, 64); err == nil {
			r.fieldExpire = fieldExpiry(ms)
		}
	}
}

// appendShort appends a string if it is short, else passes over it: Redis 3
// and 4 store whole scripts in AUX fields.
func (r *Reader) appendShort(dst []byte) []byte {
	before := len(dst)
	dst = r.appendString(dst)
	if len(dst)-before > maxAux {
		return dst[:before]
	}
	return dst
}

// finish checks the checksum after the end opcode. It returns io.EOF when all
// is well. Formats before version 5 have no checksum, and a server may store
// zero to say that it made none.
func (r *Reader) finish() error {
	if r.info.Version < 5 {
		return io.EOF
	}
	var sum uint64
	if !r.opts.SkipChecksum {
		sum = r.in.checksum()
	}
	p := r.in.need(8)
	if p == nil {
		return r.failure()
	}
	stored := binary.LittleEndian.Uint64(p)
	if !r.opts.SkipChecksum && stored != 0 && stored != sum {
		return &Error{Offset: r.in.offset(), Err: ErrChecksum}
	}
	return io.EOF
}

// Trailing returns up to 64 bytes that follow a complete dump: the commands of
// an append-only file, or the end mark of a replication stream. It must be
// called after Next has returned io.EOF.
func (r *Reader) Trailing() []byte {
	if !errors.Is(r.done, io.EOF) || !r.in.more() {
		return nil
	}
	rest := r.in.data[r.in.pos:]
	return rest[:min(len(rest), 64)]
}
