package ttlhist

import (
	"bytes"
	"unicode/utf8"
)

// The pattern of a key is the key with its ids replaced by "*": numbers, hex
// strings, UUIDs, dates, addresses and random tokens. Words stay.
//
// A key is cut into segments by the separators ":", "/" and "|", and segments
// into tokens by "-", "_", "." and the like. A token is an id or a word.
// Neighbouring ids of one segment become one "*": a date, an IP address and a
// version number are one id each.

// The classes of a byte.
const (
	digit = 1 << iota
	hexLetter
	lower
	upper
	minor   // separates tokens
	major   // separates segments
	high    // 0x80 and above: part of UTF-8 or of a binary key
	control // never part of a word
)

const letter = lower | upper

// byteClass holds the classes of each byte.
var byteClass = classes()

func classes() (table [256]uint8) {
	for b := range table {
		switch {
		case b >= '0' && b <= '9':
			table[b] = digit
		case b >= 'a' && b <= 'f':
			table[b] = lower | hexLetter
		case b >= 'A' && b <= 'F':
			table[b] = upper | hexLetter
		case b >= 'g' && b <= 'z':
			table[b] = lower
		case b >= 'G' && b <= 'Z':
			table[b] = upper
		case b == ':' || b == '/' || b == '|':
			table[b] = major
		case b < ' ' || b == 0x7f || b == '*': // a key's own star would pass for an id: let it be one
			table[b] = control
		case b >= utf8.RuneSelf:
			table[b] = high
		default:
			table[b] = minor
		}
	}
	return table
}

const (
	maxPattern = 160 // longest pattern in bytes; what follows becomes "*"
	maxWord    = 24  // a longer run of letters is no word
	uuidLen    = 36
)

// appendPattern appends the pattern of a key to dst. It reads the key once
// and does not allocate if dst has room for the key.
func appendPattern(dst, key []byte) []byte {
	start := len(dst)
	for i := 0; i < len(key); {
		if byteClass[key[i]]&(minor|major) != 0 {
			dst = append(dst, key[i])
			i++
			continue
		}
		if len(dst)-start >= maxPattern {
			return appendStar(dst, start)
		}
		if i+uuidLen <= len(key) && key[i+8] == '-' && isUUID(key[i:i+uuidLen]) {
			dst = appendStar(dst, start)
			i += uuidLen
			continue
		}
		end, seen := i, uint8(0)
		for end < len(key) {
			c := byteClass[key[end]]
			if c&(minor|major) != 0 {
				break
			}
			seen |= c
			end++
		}
		dst = appendToken(dst, key[i:end], seen, start)
		i = end
	}
	return dst
}

// appendToken appends a word as it is and an id as "*". The pattern begins at
// dst[start].
func appendToken(dst, token []byte, seen uint8, start int) []byte {
	if seen&(digit|control|high) == 0 && !isRandom(token, seen) {
		return append(dst, token...)
	}
	if seen&(control|high) != 0 {
		if seen&(control|digit) == 0 && len(token) <= 2*maxWord && utf8.Valid(token) {
			return append(dst, token...)
		}
		return appendStar(dst, start)
	}
	if seen&digit != 0 && seen&letter != 0 {
		if isVersion(token) {
			return append(dst, token...)
		}
		if n := wordBeforeNumber(token); n > 0 {
			return append(append(dst, token[:n]...), '*')
		}
	}
	return appendStar(dst, start)
}

// appendStar appends "*", unless the segment's last token is an id too: then
// both are one.
func appendStar(dst []byte, start int) []byte {
	n := len(dst)
	if n-start >= 2 && dst[n-2] == '*' {
		switch dst[n-1] {
		case '-', '_', '.', ',', '+', ' ', '=', '%':
			return dst[:n-1]
		}
	}
	if n > start && dst[n-1] == '*' {
		return dst
	}
	return append(dst, '*')
}

// isRandom tells a token of letters that is no word: letters of hex digits
// only, very long, or of wildly mixed case.
func isRandom(token []byte, seen uint8) bool {
	n := len(token)
	if n < 8 {
		return false
	}
	if n > maxWord {
		return true
	}
	hex, turns := true, 0
	for i, b := range token {
		c := byteClass[b]
		hex = hex && c&hexLetter != 0
		if i > 0 && (c^byteClass[token[i-1]])&letter != 0 {
			turns++
		}
	}
	return hex || n >= 10 && seen&letter == letter && turns*20 > n*9
}

// isVersion tells "v1" and "v12", which name versions of a format and not
// single objects.
func isVersion(token []byte) bool {
	if len(token) < 2 || len(token) > 3 || token[0]|0x20 != 'v' {
		return false
	}
	for _, b := range token[1:] {
		if byteClass[b] != digit {
			return false
		}
	}
	return true
}

// wordBeforeNumber returns the length of the word in a token such as "user17";
// 0 if the token has another form.
func wordBeforeNumber(token []byte) int {
	if len(token) >= 16 {
		return 0
	}
	n := bytes.IndexFunc(token, func(r rune) bool { return r >= '0' && r <= '9' })
	if n < 3 {
		return 0
	}
	for _, b := range token[n:] {
		if byteClass[b] != digit {
			return 0
		}
	}
	vowels, run, hex := 0, 0, true
	for _, b := range token[:n] {
		hex = hex && byteClass[b]&hexLetter != 0
		switch b | 0x20 {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			vowels++
			run = 0
		default:
			run++
		}
		if run > 4 {
			return 0
		}
	}
	if vowels == 0 || hex && len(token) >= 8 {
		return 0
	}
	return n
}

// isUUID tells the 8-4-4-4-12 form.
func isUUID(b []byte) bool {
	for i, c := range b {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if byteClass[c]&(digit|hexLetter) == 0 {
				return false
			}
		}
	}
	return true
}

// segments cuts a pattern at its major separators; a pattern without one is
// cut at the minor ones. It returns the start and end of each segment.
func segments(pattern string) [][2]int {
	sep := uint8(major)
	if !bytes.ContainsAny([]byte(pattern), ":/|") {
		sep = minor
	}
	var all [][2]int
	start := 0
	for i := 0; i <= len(pattern); i++ {
		if i < len(pattern) && byteClass[pattern[i]]&sep == 0 {
			continue
		}
		if i > start {
			all = append(all, [2]int{start, i})
		}
		start = i + 1
	}
	return all
}
