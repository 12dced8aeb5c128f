package code

import (
	"bytes"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// Remarks returns the bytes of a file in which a comment that begins with mark
// ("herdscan:") is the only place where mark stands: strings, and comments that
// only speak of it, are blanked. The lines stay as they are.
func Remarks(f *lint.File, mark string) []byte {
	out := bytes.Clone(f.Data)
	scan(f.Data, Of(f.Name), func(start, end int, isComment bool) {
		if !isComment {
			blank(out[start+1 : max(start+1, end-1)])
			return
		}
		for line := range bytes.Lines(out[start:end]) {
			if text := bytes.TrimLeft(line, "/#* \t!"); !bytes.HasPrefix(text, []byte(mark)) || hashes(line) > 1 {
				blankMark(line, mark)
			}
		}
	})
	return out
}

// hashes counts the words of comment marks at the beginning of a line: "//  #"
// are two, a comment that shows another one.
func hashes(line []byte) (n int) {
	for _, word := range bytes.Fields(line) {
		if len(bytes.Trim(word, "/#*!")) > 0 {
			break
		}
		n++
	}
	return n
}

func blankMark(line []byte, mark string) {
	for at := bytes.Index(line, []byte(mark)); at >= 0; at = bytes.Index(line, []byte(mark)) {
		blank(line[at : at+len(mark)])
	}
}

// blank overwrites all but the ends of lines.
func blank(b []byte) {
	for i := range b {
		if b[i] != '\n' && b[i] != '\r' {
			b[i] = ' '
		}
	}
}

// withoutComments replaces comments by blanks. Strings stay, so that a comment
// mark in them is none.
func withoutComments(data []byte, l Language) []byte {
	out := bytes.Clone(data)
	scan(data, l, func(start, end int, isComment bool) {
		if isComment {
			blank(out[start:end])
		}
	})
	return out
}

// scan calls visit for each comment and each string, with its marks.
func scan(data []byte, l Language, visit func(start, end int, isComment bool)) {
	for i := 0; i < len(data); {
		n := 1
		switch {
		case comment(data[i:], l) > 0:
			n = comment(data[i:], l)
			visit(i, i+n, true)
		case strings.IndexByte("\"'`", data[i]) >= 0:
			if n = quoted(data[i:], l); n > 1 {
				visit(i, i+n, false)
			}
		}
		i += n
	}
}

// comment returns the length of the comment at the start of b, or 0.
func comment(b []byte, l Language) int {
	hash := l == Python || l == Ruby || l == PHP
	slash := l != Python && l != Ruby
	switch {
	case hash && b[0] == '#' && !(l == PHP && len(b) > 1 && b[1] == '['):
		return line(b)
	case slash && len(b) > 1 && b[0] == '/' && b[1] == '/':
		return line(b)
	case slash && len(b) > 1 && b[0] == '/' && b[1] == '*':
		if i := strings.Index(string(b[2:min(len(b), 1<<16)]), "*/"); i >= 0 {
			return i + 4
		}
		return len(b)
	}
	return 0
}

func line(b []byte) int {
	for i, c := range b {
		if c == '\n' {
			return i
		}
	}
	return len(b)
}

// maxString bounds a string on one line, in bytes.
const maxString = 4 << 10

// quoted returns the length of the string at the start of b. A string that
// does not end on its line counts as one character, where the language has
// no strings over lines: it is an apostrophe then.
func quoted(b []byte, l Language) int {
	q := b[0]
	if l == Python && len(b) > 2 && b[1] == q && b[2] == q {
		for i := 3; i+2 < len(b); i++ {
			if b[i] == '\\' {
				i++
			} else if b[i] == q && b[i+1] == q && b[i+2] == q {
				return i + 3
			}
		}
		return len(b)
	}
	limit := len(b)
	if q != '`' {
		limit = min(limit, maxString)
	}
	for i := 1; i < limit; i++ {
		switch {
		case b[i] == '\\' && !(q == '`' && l == Go):
			i++
		case b[i] == q:
			return i + 1
		case b[i] == '\n' && q != '`':
			return 1
		}
	}
	return 1
}
