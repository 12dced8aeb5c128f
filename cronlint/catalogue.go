package cronlint

import (
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/cache"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/retry"
	"github.com/herdscan/herdscan/cronlint/timing"
)

// Formats returns every format that is known, in the order in which they are
// asked. A new one is a row here.
func Formats() []lint.Format {
	return slices.Concat(
		job.Formats(),
		retry.Formats(),
		cache.Formats(),
	)
}

// Checks returns every check, by rule number.
func Checks() []lint.Check {
	return slices.Concat(
		timing.Checks(),
		retry.Checks(),
		cache.Checks(),
		metaChecks(),
	)
}

// Rules returns the documentation of every rule of this package.
func Rules() []rule.Rule {
	checks := Checks()
	rules := make([]rule.Rule, 0, len(checks))
	for _, c := range checks {
		rules = append(rules, *c.Rule)
	}
	slices.SortFunc(rules, func(a, b rule.Rule) int { return strings.Compare(a.ID, b.ID) })
	return rules
}
