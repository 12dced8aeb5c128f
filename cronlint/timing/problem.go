package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

type ruleDoc = rule.Rule

// entryProblem makes a problem at an entry's schedule.
func entryProblem(r *ruleDoc, e *lint.Entry, subject, format string, args ...any) lint.Problem {
	p := lint.NewProblem(r, e.File, e.Field, subject, fmt.Sprintf(format, args...))
	p.Identity = e.Identity
	p.Key = e.Raw
	return p
}
