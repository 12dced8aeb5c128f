package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes untrusted text safe to show: control and escape characters,
// invalid UTF-8, and characters that turn the direction of writing or hide
// become visible escapes. It is the only way by which keys, SQL and file
// contents reach a document.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unsafeRune(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}

// unsafeRune reports C1 controls, format characters (bidi overrides and
// isolates, zero-width ones, tags) and line separators. None of them has a
// visible shape of its own.
func unsafeRune(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) ||
		unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || r == '\ufeff' || !unicode.IsGraphic(r)
}

// cut shortens s to at most width columns (runes), marking the cut. What is cut
// stands in full elsewhere in the report; width 0 means no limit.
func cut(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	if width == 1 {
		return "…"
	}
	r := []rune(s)
	head := (width - 1) * 2 / 3
	tail := width - 1 - head
	return string(r[:head]) + "…" + string(r[len(r)-tail:])
}
