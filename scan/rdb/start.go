package rdb

import "bytes"

// eofMark is how long the mark is that ends a stream of unknown length.
const eofMark = 40

// Start returns where in the first bytes of an input the dump begins: at 0,
// or behind what a master sends before it to a replica, which is line breaks,
// a "+FULLRESYNC ..." line and "$<length>\r\n" or "$EOF:<40 bytes>\r\n". It
// returns false if there is no magic.
func Start(head []byte) (offset int, ok bool) {
	rest := bytes.TrimLeft(head, "\r\n")
	if bytes.HasPrefix(rest, []byte("+FULLRESYNC ")) {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
		rest = bytes.TrimLeft(rest, "\r\n")
	}
	if len(rest) > 0 && rest[0] == '$' {
		line, after, found := bytes.Cut(rest, []byte("\r\n"))
		if !found || !isPayloadLine(line) {
			return 0, false
		}
		rest = after
	}
	if !hasMagic(rest) {
		return 0, false
	}
	return len(head) - len(rest), true
}

// isPayloadLine reports whether line announces a dump of known or unknown
// length.
func isPayloadLine(line []byte) bool {
	if mark, ok := bytes.CutPrefix(line, []byte("$EOF:")); ok {
		return len(mark) == eofMark
	}
	digits := line[1:]
	return len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}

// hasMagic reports whether b begins with a magic and a version.
func hasMagic(b []byte) bool {
	if len(b) < 9 {
		return false
	}
	digits, ok := bytes.CutPrefix(b[:9], []byte("REDIS"))
	if !ok {
		digits, ok = bytes.CutPrefix(b[:9], []byte("VALKEY"))
	}
	return ok && len(bytes.Trim(digits, "0123456789")) == 0
}
