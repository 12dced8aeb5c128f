package scan

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

var errJSON = errors.New("not a JSON object")

// splitJSON fills row from one JSON object. It differs from encoding/json in that bytes that are no UTF-8 survive in
// a key, and that "\xff" is understood too. Strings are decoded in place; nested values are passed over.
func splitJSON(line []byte, r *row) error {
	p := jsonParser{rest: bytes.TrimSpace(line)}
	if !p.take('{') {
		return errJSON
	}
	for first := true; !p.take('}'); first = false {
		if !first && !p.take(',') {
			return errJSON
		}
		name, ok := p.str()
		if !ok || !p.take(':') {
			return errJSON
		}
		value, ok := p.value()
		if !ok {
			return errJSON
		}
		if c := columnOf(name); c != colOther {
			r[c] = value
		}
	}
	if len(p.rest) > 0 {
		return errJSON
	}
	return nil
}

type jsonParser struct{ rest []byte }

// take passes over blanks and c.
func (p *jsonParser) take(c byte) bool {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = bytes.TrimLeft(p.rest[1:], " \t\r\n")
	return true
}

// value returns a string decoded, a number as it is written, and nothing (nil) for null, booleans and nested values.
func (p *jsonParser) value() ([]byte, bool) {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
	if len(p.rest) == 0 {
		return nil, false
	}
	switch c := p.rest[0]; {
	case c == '"':
		return p.str()
	case c == '{' || c == '[':
		return nil, p.nested()
	case c == '-' || c >= '0' && c <= '9':
		return p.until(",}] \t"), true
	}
	word := string(p.until(",}] \t"))
	return nil, word == "null" || word == "true" || word == "false"
}

func (p *jsonParser) until(stops string) []byte {
	i := bytes.IndexAny(p.rest, stops)
	if i < 0 {
		i = len(p.rest)
	}
	word := p.rest[:i:i]
	p.rest = p.rest[i:]
	return word
}

// nested passes over an object or an array.
func (p *jsonParser) nested() bool {
	depth := 0
	for len(p.rest) > 0 {
		switch p.rest[0] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if _, ok := p.str(); !ok {
				return false
			}
			continue
		}
		p.rest = p.rest[1:]
		if depth == 0 {
			return true
		}
	}
	return false
}

// str decodes a string in place. An escape is never shorter than what it stands for.
func (p *jsonParser) str() ([]byte, bool) {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
	if len(p.rest) == 0 || p.rest[0] != '"' {
		return nil, false
	}
	s := p.rest[1:]
	out := s[:0]
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			p.rest = s[i+1:]
			return out[:len(out):len(out)], true
		case '\\':
			n := 0
			if out, n = appendEscape(out, s[i+1:]); n == 0 {
				return nil, false
			}
			i += n
		default:
			out = append(out, s[i])
		}
	}
	return nil, false
}

// jsonEscapes maps the letter of a short escape to its byte.
var jsonEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// appendEscape appends what the escape at the start of s, behind the backslash, stands for, and returns its length; 0
// if it is damaged.
func appendEscape(dst, s []byte) ([]byte, int) {
	if len(s) == 0 {
		return dst, 0
	}
	switch s[0] {
	case 'x':
		if len(s) < 3 || unhex(s[1]) < 0 || unhex(s[2]) < 0 {
			return dst, 0
		}
		return append(dst, byte(unhex(s[1])<<4|unhex(s[2]))), 3
	case 'u':
		r, ok := unhex4(s[1:])
		if !ok {
			return dst, 0
		}
		if utf16.IsSurrogate(r) {
			if low, ok := lowSurrogate(s[5:]); ok {
				return utf8.AppendRune(dst, utf16.DecodeRune(r, low)), 11
			}
			r = utf8.RuneError
		}
		return utf8.AppendRune(dst, r), 5
	}
	c := jsonEscapes[s[0]]
	if c == 0 {
		return dst, 0
	}
	return append(dst, c), 1
}

// lowSurrogate returns the second half of a pair, if s begins with its escape.
func lowSurrogate(s []byte) (rune, bool) {
	if !bytes.HasPrefix(s, []byte(`\u`)) {
		return 0, false
	}
	r, ok := unhex4(s[2:])
	return r, ok && r >= 0xdc00 && r < 0xe000
}

func unhex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		v := unhex(c)
		if v < 0 {
			return 0, false
		}
		r = r<<4 | rune(v)
	}
	return r, true
}
