package rdb

import (
	"errors"
	"fmt"
)

// maxTemplates bounds the memory for hash templates of a damaged dump.
const maxTemplates = 1 << 20

// skipValue passes over a value. It sets the type's name and, for hashes
// whose fields can expire, the earliest expiry of a field in e.
func (r *Reader) skipValue(typ byte, e *Entry) {
	if int(typ) < len(typeNames) {
		e.Type = typeNames[typ]
	}
	switch typ {
	case typeString, typeHashZipmap, typeListZiplist, typeSetIntset, typeZSetZiplist,
		typeHashZiplist, typeHashListpack, typeZSetListpack, typeSetListpack:
		r.skipString()
	case typeList, typeSet, typeListQuicklist:
		r.skipStrings(r.count())
	case typeHash:
		r.skipPairs(r.count())
	case typeZSet, typeZSet2:
		r.skipZSet(typ)
	case typeListQuicklist2:
		for n := r.count(); n > 0 && r.in.err == nil; n-- {
			r.count()
			r.skipString()
		}
	case typeStream, typeStream2, typeStream3:
		r.skipStream(typ)
	case typeModule2:
		e.Type = r.moduleName(r.count())
		r.skipModule()
	case typeModulePreGA:
		r.in.fail(errors.New("a module value of a Redis 4.0 release candidate, which can't be skipped"))
	case typeKeyDBCron:
		r.skipString()
		r.in.skip(16)
		r.skipStrings(r.count())
		r.skipStrings(r.count())
	default:
		r.skipNewer(typ, e)
	}
}

// skipNewer passes over the types from 22 on, where Redis and Valkey differ.
func (r *Reader) skipNewer(typ byte, e *Entry) {
	if r.info.Valkey {
		switch typ {
		case valkeyTypeHash2:
			e.FieldExpireMS = r.skipValkeyHash()
		case valkeyTypePathHash:
			r.in.fail(fmt.Errorf("object type %d (path hash of Valkey 9.2), which herdscan can't read; "+
				"scan the server instead", typ))
		default:
			r.unknown("type", typ)
		}
		return
	}
	if r.info.Version <= 9 && typ >= dragonflyTypesFirst && typ <= dragonflyTypesLast {
		r.in.fail(fmt.Errorf("object type %d of Dragonfly, whose snapshots herdscan can't read; "+
			"save with Redis' own format, or scan the server", typ))
		return
	}
	switch typ {
	case typeHashMetaPreGA, typeHashMeta:
		e.FieldExpireMS = r.skipHashMeta(typ)
	case typeHashLPExPreGA:
		r.skipString()
	case typeHashLPEx:
		e.FieldExpireMS = fieldExpiry(r.ms())
		r.skipString()
	case typeStream4, typeStream5:
		r.skipStream(typ)
	case typeArray:
		r.skipArray()
	case typeHashTmplLP:
		r.skipStrings(r.count())
		r.skipString()
	case typeHashTmplLPRef:
		r.skipString()
	case typeHashTmplArr:
		r.skipPairs(r.count())
	case typeHashTmplArrRef:
		r.skipStrings(r.templates[r.count()])
	case typeRateLimit:
		r.count()
	default:
		r.unknown("type", typ)
	}
}

func (r *Reader) unknown(what string, b byte) {
	r.in.fail(fmt.Errorf("unknown %s %d in %s: written by a newer or another server, or damaged", what, b, r.info.Format()))
}

// skipPairs passes over n pairs of strings.
func (r *Reader) skipPairs(n uint64) {
	for ; n > 0 && r.in.err == nil; n-- {
		r.skipString()
		r.skipString()
	}
}

func (r *Reader) skipZSet(typ byte) {
	for n := r.count(); n > 0 && r.in.err == nil; n-- {
		r.skipString()
		if typ == typeZSet2 {
			r.in.skip(8)
			continue
		}
		// A score as text; 253 to 255 stand for NaN and the infinities.
		if l := r.in.byte(); l < 253 {
			r.in.skip(uint64(l))
		}
	}
}

// fieldExpiry turns a stored time into an expiry: zero and the values beyond
// 48 bits mean that no field expires.
func fieldExpiry(ms int64) int64 {
	if ms <= 0 || ms >= 1<<48-1 {
		return NoExpiry
	}
	return ms
}

// skipHashMeta passes over a hash of Redis 7.4 whose fields can expire and
// returns the earliest expiry. The release candidates stored absolute times,
// the releases the distance plus one to a minimum that stands in front.
func (r *Reader) skipHashMeta(typ byte) int64 {
	first := int64(NoExpiry)
	if typ == typeHashMeta {
		first = fieldExpiry(r.ms())
	}
	for n := r.count(); n > 0 && r.in.err == nil; n-- {
		ttl := r.count()
		if typ == typeHashMetaPreGA {
			first = earlier(first, fieldExpiry(int64(ttl)))
		}
		r.skipString()
		r.skipString()
	}
	return first
}

// skipValkeyHash passes over a hash of Valkey 9 and returns the earliest
// expiry of a field.
func (r *Reader) skipValkeyHash() int64 {
	first := int64(NoExpiry)
	for n := r.count(); n > 0 && r.in.err == nil; n-- {
		r.skipString()
		r.skipString()
		first = earlier(first, fieldExpiry(r.ms()))
	}
	return first
}

// earlier returns the earlier of two expiries.
func earlier(a, b int64) int64 {
	if a == NoExpiry || b != NoExpiry && b < a {
		return b
	}
	return a
}

// skipArray passes over an array of Redis 8.8: elements with an index and a
// tag that says how they are stored.
func (r *Reader) skipArray() {
	n := r.count()
	if r.count() == 1 {
		r.count() // the insert cursor
	}
	for ; n > 0 && r.in.err == nil; n-- {
		r.count()
		switch tag := r.count(); tag {
		case 0, 3:
			r.skipString()
		case 1, 2:
			r.in.skip(8)
		default:
			r.in.fail(fmt.Errorf("unknown array element %d", tag))
		}
	}
}

// readTemplate notes how many fields a hash template has.
func (r *Reader) readTemplate() {
	id, n := r.count(), r.count()
	if r.templates == nil {
		r.templates = make(map[uint64]uint64)
	}
	if len(r.templates) >= maxTemplates {
		r.in.fail(errors.New("too many hash templates"))
		return
	}
	r.templates[id] = n
	r.skipStrings(n)
}

// skipStream passes over a stream of any version: entries, consumer groups
// with their pending entries, and from version 4 on the IDs of producers.
func (r *Reader) skipStream(typ byte) {
	r.skipPairs(r.count()) // an ID and a listpack each
	r.skipLengths(3)
	if typ >= typeStream2 {
		r.skipLengths(5)
	}
	for groups := r.count(); groups > 0 && r.in.err == nil; groups-- {
		r.skipGroup(typ)
	}
	if typ < typeStream4 {
		return
	}
	r.skipLengths(2)
	for producers := r.count(); producers > 0 && r.in.err == nil; producers-- {
		r.skipString()
		for n := r.count(); n > 0 && r.in.err == nil; n-- {
			r.skipString()
			r.skipLengths(2)
		}
	}
	r.skipLengths(2)
}

func (r *Reader) skipGroup(typ byte) {
	r.skipString()
	r.skipLengths(2)
	if typ >= typeStream2 {
		r.count()
	}
	for pending := r.count(); pending > 0 && r.in.err == nil; pending-- {
		r.in.skip(16 + 8)
		r.count()
	}
	for consumers := r.count(); consumers > 0 && r.in.err == nil; consumers-- {
		r.skipString()
		r.in.skip(8)
		if typ >= typeStream3 {
			r.in.skip(8)
		}
		r.skipIDs(r.count())
	}
	if typ >= typeStream5 {
		r.skipIDs(r.count())
	}
}

// skipIDs passes over n stream IDs of 16 bytes.
func (r *Reader) skipIDs(n uint64) {
	if n > 1<<58 {
		r.in.fail(errLength)
		return
	}
	r.in.skip(16 * n)
}

// moduleName remembers the last name, since a dump has few module types.
func (r *Reader) moduleName(id uint64) string {
	if r.moduleID != id {
		r.moduleID, r.module = id, moduleTypeName(id)
	}
	return r.module
}

// skipModule passes over the self-describing fields of a module's value.
func (r *Reader) skipModule() {
	for r.in.err == nil {
		switch op := r.count(); op {
		case 0:
			return
		case 1, 2:
			r.count()
		case 3:
			r.in.skip(4)
		case 4:
			r.in.skip(8)
		case 5:
			r.skipString()
		default:
			r.in.fail(fmt.Errorf("unknown field %d in a module's value", op))
		}
	}
}

// skipKeyMeta passes over what modules attach to a key since Redis 8.6.
func (r *Reader) skipKeyMeta() {
	for n := r.count(); n > 0 && r.in.err == nil; n-- {
		r.in.skip(4)
		r.skipModule()
	}
}

// skipUpdate passes over a command in the protocol of the server, which
// Valkey 9.2 puts between the keys when it saves without a fork.
func (r *Reader) skipUpdate() {
	for n := r.protocolLength('*'); n > 0 && r.in.err == nil; n-- {
		r.in.skip(r.protocolLength('$'))
		r.in.skip(2)
	}
}

// protocolLength reads a line such as "$12\r\n".
func (r *Reader) protocolLength(mark byte) uint64 {
	if r.in.byte() != mark {
		r.in.fail(errLength)
		return 0
	}
	var n uint64
	for range 20 {
		b := r.in.byte()
		switch {
		case b >= '0' && b <= '9':
			n = n*10 + uint64(b-'0')
		case b == '\r' && r.in.byte() == '\n':
			return n
		default:
			r.in.fail(errLength)
			return 0
		}
	}
	r.in.fail(errLength)
	return 0
}
