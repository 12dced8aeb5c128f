// Package nginx reads nginx configuration files, whole ones and fragments,
// into directives that know their bytes.
//
// Template expressions ({{ }}, {% %}, <% %>) are tolerated: they are read as
// part of a word or skipped, so that a template of a configuration can be
// judged for what is written out in it.
package nginx

import (
	"bytes"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
)

type kind int

const (
	word kind = iota
	open      // {
	shut      // }
	semicolon
	end
)

type token struct {
	kind   kind
	text   string // of a word, without quotes
	quoted bool
	span   lint.Span
}

type lexer struct {
	data []byte
	at   int
}

// next returns the next token.
func (l *lexer) next() token {
	l.space()
	start := l.at
	if start >= len(l.data) {
		return token{kind: end, span: lint.Span{Start: start, End: start}}
	}
	if bytes.HasPrefix(l.data[start:], []byte("{{")) {
		return l.word()
	}
	switch c := l.data[start]; c {
	case ';', '{', '}':
		l.at++
		kinds := map[byte]kind{';': semicolon, '{': open, '}': shut}
		return token{kind: kinds[c], span: lint.Span{Start: start, End: l.at}}
	case '"', '\'':
		return l.quoted(c)
	}
	return l.word()
}

// space skips blanks, comments and template statements.
func (l *lexer) space() {
	for l.at < len(l.data) {
		rest := l.data[l.at:]
		switch {
		case bytes.IndexByte([]byte(" \t\r\n\f\v"), rest[0]) >= 0:
			l.at++
		case rest[0] == '#':
			l.until(rest, "\n", 1)
		case bytes.HasPrefix(rest, []byte("{%")):
			l.until(rest, "%}", 2)
		case bytes.HasPrefix(rest, []byte("{#")):
			l.until(rest, "#}", 2)
		case bytes.HasPrefix(rest, []byte("{{")) && statement(rest):
			l.until(rest, "}}", 2)
		case bytes.HasPrefix(rest, []byte("<%")) && !bytes.HasPrefix(rest, []byte("<%=")):
			l.until(rest, "%>", 2)
		default:
			return
		}
	}
}

// statement says whether a {{ }} stands where a directive would begin and is
// all of its line: {{- if .x }}, {{ include ... }}.
func statement(rest []byte) bool {
	i := bytes.Index(rest, []byte("}}"))
	if i < 0 {
		return false
	}
	line := rest[i+2 : min(len(rest), i+2+200)]
	if j := bytes.IndexByte(line, '\n'); j >= 0 {
		line = line[:j]
	}
	return len(bytes.TrimSpace(line)) == 0
}

// until moves behind the next occurrence of mark, or to the end.
func (l *lexer) until(rest []byte, mark string, skip int) {
	i := bytes.Index(rest[min(skip, len(rest)):], []byte(mark))
	if i < 0 {
		l.at = len(l.data)
		return
	}
	l.at += skip + i + len(mark)
	l.at = min(l.at, len(l.data))
}

func (l *lexer) quoted(quote byte) token {
	start := l.at
	var text strings.Builder
	for l.at++; l.at < len(l.data) && l.data[l.at] != quote; l.at++ {
		if l.data[l.at] == '\\' && l.at+1 < len(l.data) {
			l.at++
		}
		text.WriteByte(l.data[l.at])
	}
	l.at = min(l.at+1, len(l.data))
	return token{kind: word, quoted: true, text: text.String(), span: lint.Span{Start: start, End: l.at}}
}

// word reads up to a blank, ";" or "{". "${name}" and "{{ x }}" are parts of a
// word.
func (l *lexer) word() token {
	start := l.at
	for l.at < len(l.data) {
		c, rest := l.data[l.at], l.data[l.at:]
		switch {
		case c == '\\' && len(rest) > 1:
			l.at++
		case bytes.HasPrefix(rest, []byte("${")):
			l.until(rest, "}", 2)
			continue
		case bytes.HasPrefix(rest, []byte("{{")):
			l.until(rest, "}}", 2)
			continue
		case bytes.HasPrefix(rest, []byte("<%")):
			l.until(rest, "%>", 2)
			continue
		case c == '{' || c == '}' || c == ';' || bytes.IndexByte([]byte(" \t\r\n\f\v"), c) >= 0:
			if l.at == start { // "}" can't get here; be sure to move on
				l.at++
			}
			return token{kind: word, text: string(l.data[start:l.at]), span: lint.Span{Start: start, End: l.at}}
		}
		l.at++
	}
	return token{kind: word, text: string(l.data[start:l.at]), span: lint.Span{Start: start, End: l.at}}
}
