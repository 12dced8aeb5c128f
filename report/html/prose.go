package html

import (
	"regexp"
)

// A piece is a part of a sentence; a time is one that must not be broken, and
// that the script can write in the reader's zone.
type piece struct {
	Text  string
	Time  bool
	IsUTC bool
}

// times matches the times that report.Clock writes.
var times = regexp.MustCompile(`\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z| \d\d:\d\d:\d\d(?: [A-Z]{2,5}| [+-]\d{2,4})?)`)

// pieces takes a sentence apart.
func pieces(s string) []piece {
	var out []piece
	at := 0
	for _, m := range times.FindAllStringIndex(s, -1) {
		if m[0] > at {
			out = append(out, piece{Text: s[at:m[0]]})
		}
		out = append(out, piece{Text: s[m[0]:m[1]], Time: true, IsUTC: s[m[1]-1] == 'Z'})
		at = m[1]
	}
	if at < len(s) {
		out = append(out, piece{Text: s[at:]})
	}
	return out
}
