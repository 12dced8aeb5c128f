package remedy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// first is what comes before all remedies: that none is needed, or that the
// value should not be cached.
func first(c Case) []Remedy {
	var list []Remedy
	if why, harmless := c.harmless(); harmless {
		list = append(list, Remedy{Name: Nothing, Helps: Yes, Text: "nothing: this herd is harmless as it is", Why: why})
	}
	if word, exact := c.mustBeExact(); exact && c.cached() {
		list = append(list, Remedy{
			Name: NoCache, Helps: Yes,
			Text: fmt.Sprintf("if this %s must be exact, do not cache it: read it where it is changed, in the same transaction", word),
			Why:  "caching is wrong for what must not be old, such as balances, stock and permissions; the remedies below are for what may be",
		})
	}
	return list
}

// cached tells whether the cause is a cached value at all.
func (c Case) cached() bool {
	switch c.Kind {
	case TTLHerd, WarmUpJob, HotKey, ColdStart, Budget:
		return !c.Write
	default:
		return false
	}
}

// harmless tells why nothing is needed, where it is so: computing takes some
// milliseconds and few do it at once, or the source can take it.
func (c Case) harmless() (why string, ok bool) {
	const idle = 0.5 // values computed at a time, on average over the busiest second
	peak := c.before()
	switch {
	case peak <= 0 || !c.cached():
		return "", false
	case c.Budget > 0 && peak <= c.Budget:
		return fmt.Sprintf("its busiest second has %s, and %s are said to be borne", num(peak), rate(c.Budget, c.unit())), true
	case c.Rebuild > 0 && c.slowest() <= quick && peak*c.slowest().Seconds() < idle && c.AtOnce <= 2:
		return fmt.Sprintf("a value takes at most %s, so that even in the busiest second, with %s, less than one is computed at a time", secs(c.slowest()), num(peak)), true
	default:
		return "", false
	}
}

// exactWords are the names, in the singular, of what must not be old.
var exactWords = []string{
	"acl", "allowance", "authorisation", "authorization", "balance", "credit", "entitlement", "grant", "inventory",
	"ledger", "permission", "privilege", "quota", "reservation", "seat", "stock", "wallet",
}

// mustBeExact returns a word in the names of the case that speaks of a value
// that must not be old. It is a hint: names can mislead.
func (c Case) mustBeExact() (word string, ok bool) {
	for _, name := range c.Names {
		for _, w := range words(name) {
			if _, found := slices.BinarySearch(exactWords, w); found {
				return w, true
			}
		}
	}
	return "", false
}

// words splits a name at what is no letter and where a capital follows a small
// letter, in lower case and without the s of a plural.
func words(name string) []string {
	var out []string
	from := 0
	prev := ' '
	cut := func(to int) {
		if w := strings.ToLower(name[from:to]); w != "" {
			out = append(out, strings.TrimSuffix(w, "s"))
		}
	}
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r):
			cut(i)
			from = i + len(string(r))
		case unicode.IsUpper(r) && unicode.IsLower(prev):
			cut(i)
			from = i
		}
		prev = r
	}
	cut(len(name))
	return out
}
