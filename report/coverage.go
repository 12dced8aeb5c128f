package report

import "fmt"

// mostSources is how many sources a text lists one by one. Of many machines and
// days only what went wrong is worth a line each.
const mostSources = 12

// foldCoverage returns the sources to list, and a line about those that were
// read whole and without a word.
func foldCoverage(cs []Coverage) (shown []Coverage, rest string) {
	if len(cs) <= mostSources {
		return cs, ""
	}
	counts := map[string]uint64{}
	var units []string
	folded := 0
	for i, c := range cs {
		if i < mostSources/2 || !c.Complete || len(c.Errors) > 0 || c.Skipped > 0 {
			shown = append(shown, c)
			continue
		}
		if _, known := counts[c.Unit]; !known {
			units = append(units, c.Unit)
		}
		counts[c.Unit] += c.Read
		folded++
	}
	if folded == 0 {
		return shown, ""
	}
	rest = fmt.Sprintf("and %s more, read whole:", Count(folded, "sources"))
	for i, u := range units {
		if i > 0 {
			rest += ","
		}
		rest += " " + Count(counts[u], u)
	}
	return shown, rest
}
