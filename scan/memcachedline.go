package scan

import "bytes"

// A metaItem is one line of memcached's "lru_crawler metadump".
type metaItem struct {
	key      []byte // decoded, in the parser's buffer
	expire   int64  // Unix seconds; -1 never
	access   int64  // Unix seconds of the last access, or of the writing
	fetched  bool   // read since it was written
	hasFetch bool
	hasSize  bool // the line was not cut off before the size, which follows the times
}

// A metaParser parses lines such as
//
//	key=rate%3A10.1.2.3 exp=1796145590 la=1796059132 cas=9 fetch=no cls=1 size=83
//
// Fields may come in any order; those it does not know are passed over.
type metaParser struct{ key []byte }

// parse returns false if the line has no key or no expiry, or a damaged one.
// The item is valid until the next call.
func (p *metaParser) parse(line []byte) (item metaItem, ok bool) {
	hasKey, hasExpire := false, false
	for len(line) > 0 {
		name, value := cutName(line)
		valid := true
		switch string(name) {
		case "key":
			value, line = cutField(value)
			p.key, valid = appendUnescaped(p.key[:0], value)
			item.key, hasKey = p.key, true
			valid = valid && len(value) > 0
		case "exp":
			item.expire, line, valid = cutNumber(value)
			hasExpire = true
		case "la":
			item.access, line, valid = cutNumber(value)
		case "fetch":
			value, line = cutField(value)
			item.fetched, item.hasFetch = string(value) == "yes", true
		case "size":
			_, line, item.hasSize = cutNumber(value)
		default:
			_, line = cutField(value)
		}
		if !valid {
			return item, false
		}
	}
	return item, hasKey && hasExpire
}

// cutName returns the name of the first field and what follows its equals sign; no name if the field has none.
func cutName(line []byte) (name, rest []byte) {
	for i, c := range line { // names are too short for bytes.IndexByte to pay
		switch c {
		case '=':
			return line[:i], line[i+1:]
		case ' ':
			return nil, line
		}
	}
	return nil, line
}

// cutField returns what is before the first space and what is behind it.
func cutField(line []byte) (field, rest []byte) {
	if i := bytes.IndexByte(line, ' '); i >= 0 {
		return line[:i], line[i+1:]
	}
	return line, nil
}

// cutNumber reads a decimal number of at most 18 digits with an optional minus sign, up to a space or the end.
func cutNumber(line []byte) (n int64, rest []byte, ok bool) {
	i := 0
	neg := len(line) > 0 && line[0] == '-'
	if neg {
		i = 1
	}
	first := i
	for ; i < len(line) && line[i]-'0' <= 9; i++ {
		if i-first >= 18 {
			return 0, nil, false
		}
		n = n*10 + int64(line[i]-'0')
	}
	if neg {
		n = -n
	}
	switch {
	case i == first:
		return 0, nil, false
	case i == len(line):
		return n, nil, true
	case line[i] != ' ':
		return 0, nil, false
	}
	return n, line[i+1:], true
}

// isMetadump reports whether head begins with a line of a metadump.
func isMetadump(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if !bytes.HasPrefix(line, []byte("key=")) {
		return false
	}
	_, ok := new(metaParser).parse(bytes.TrimRight(line, "\r"))
	return ok
}

// appendUnescaped appends s with %XX decoded, as in an URL's path.
func appendUnescaped(dst, s []byte) ([]byte, bool) {
	for {
		i := bytes.IndexByte(s, '%')
		if i < 0 {
			return append(dst, s...), true
		}
		if i+2 >= len(s) {
			return dst, false
		}
		hi, lo := unhex(s[i+1]), unhex(s[i+2])
		if hi < 0 || lo < 0 {
			return dst, false
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, byte(hi<<4|lo))
		s = s[i+3:]
	}
}

// unhex returns the value of a hexadecimal digit, or -1.
func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// parseInt parses a decimal number of at most 18 digits with an optional
// minus sign.
func parseInt(s []byte) (int64, bool) {
	n, _, ok := cutNumber(s)
	return n, ok && bytes.IndexByte(s, ' ') < 0
}
