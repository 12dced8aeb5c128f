package attribute

import (
	"math"
	"strings"
	"unicode"

	"github.com/herdscan/herdscan/querylog"
)

// A vocabulary holds the words of a herd's statements, each with how much it
// says about what the statements are for: 1 for a table, less for the rest.
type vocabulary map[string]float64

const (
	columnWeight = 0.4 // of a word of the text that is no table
	nameNats     = 3.0 // that one matching table is worth
	namesNats    = 4.0 // that all names together are worth at most
)

// plainWords say nothing about what is cached or asked for.
var plainWords = words("all any app bin body build cache cached cfg com config cron data dev etc exec get hour html http ids info init job jobs json " +
	"key keys lang last list load local log mysql name new off opt page per php prod python redis refresh root run sbin script server sleep src srv " +
	"start state status the tmp total type usr utf value var version work worker www xml")

// sqlWords say nothing in a statement's text, but may be the name of a table
// or of keys.
var sqlWords = words("and asc avg between case cast coalesce count cross current date day delete desc distinct else end exists for from full group having " +
	"index inner insert interval into join left like limit max min not now null order outer over right row rows select set sql sum table then union " +
	"update using values when where with")

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// statement adds the words of one statement.
func (v vocabulary) statement(c *querylog.Class) {
	for _, t := range c.Tables {
		for _, w := range splitWords(t) {
			v[w] = 1
		}
	}
	for _, w := range splitWords(c.Shape) {
		if !sqlWords[w] {
			v[w] = max(v[w], columnWeight)
		}
	}
}

// match returns what a name's likeness to the vocabulary is worth in nats, and
// the words that are alike.
func (v vocabulary) match(name []string) (nats float64, alike []string) {
	for _, w := range name {
		best := 0.0
		for have, weight := range v {
			best = math.Max(best, weight*likeness(w, have))
		}
		if best > 0 {
			nats += nameNats * best
			alike = append(alike, w)
		}
	}
	return math.Min(nats, namesNats), alike
}

// likeness compares two words: 1 for the same but for number, less where one
// begins the other.
func likeness(a, b string) float64 {
	a, b = singular(a), singular(b)
	if a == b {
		return 1
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	switch {
	case len(a) >= 3 && strings.HasPrefix(b, a):
		return 0.6
	case len(a) >= 5 && strings.Contains(b, a):
		return 0.6
	}
	return 0
}

// singular takes the plural ending off an English word, roughly.
func singular(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "xes") || strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "shes")):
		return w[:len(w)-2]
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		return w[:len(w)-1]
	}
	return w
}

// splitWords returns the telling words of a name or text, each once, in lower
// case: camelCase, snake_case and punctuation separate words.
func splitWords(s string) []string {
	var out []string
	seen := map[string]bool{}
	start, lower := -1, false
	flush := func(end int) {
		if start >= 0 {
			if w := strings.ToLower(s[start:end]); len(w) >= 3 && !plainWords[w] && !seen[singular(w)] {
				seen[singular(w)] = true
				out = append(out, w)
			}
		}
		start = -1
	}
	for i, r := range s {
		switch {
		case !unicode.IsLetter(r):
			flush(i)
			lower = false
			continue
		case unicode.IsUpper(r) && lower:
			flush(i)
		}
		if start < 0 {
			start = i
		}
		lower = unicode.IsLower(r)
	}
	flush(len(s))
	return out
}
