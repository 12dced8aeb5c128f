package report

import (
	"fmt"
	"slices"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report/attribute"
	"github.com/herdscan/herdscan/report/remedy"
)

// advise weighs the remedies of finding i of the log, for the cause that all
// sources point at and with the numbers of all of them. It returns the conflicts
// with the configuration seen. v is nil for what has no cause.
func (r *Incident) advise(f *Finding, i int, v *attribute.Verdict) []Finding {
	q := r.Queries.Analysis.Findings[i]
	switch {
	case q.Severity < rule.Warning:
		return nil
	case v == nil:
		f.Advise(QueryCase(&q, r.Lang))
		return nil
	}
	return conflictsOf(f, f.Advise(r.remedyCase(q, v.Best())))
}

// remedyCase puts together what the sources tell of a herd in the log.
func (r *Incident) remedyCase(q querylog.Finding, s *attribute.Suspect) remedy.Case {
	kind := querylog.CauseKind(s.Kind)
	if s.Kind == attribute.WarmUp {
		kind = querylog.CauseTTL // its teeth are those of keys that die together
	}
	q.Causes = []querylog.Cause{{Kind: kind}}
	c := QueryCase(&q, r.Lang)
	if s.Kind == attribute.WarmUp {
		c.Kind = remedy.WarmUpJob
	}
	if s.TTL > 0 {
		c.TTL = s.TTL
	}
	if s.Cache >= 0 && s.Cache < len(r.Keys) {
		configure(&c, r.Keys[s.Cache].Analysis)
		c.Names = append(c.Names, s.Patterns...)
	}
	c.Deploy = slices.ContainsFunc(r.Events, func(e attribute.Event) bool { return e.Kind != attribute.Outage })
	return c
}

// conflictsOf makes a finding of each remedy that the configuration works
// against (HS604).
func conflictsOf(f *Finding, list []remedy.Remedy) []Finding {
	var out []Finding
	for _, x := range list {
		if x.Helps == remedy.No {
			continue
		}
		for _, c := range x.Conflicts {
			out = append(out, Finding{
				Rule: "HS604", Severity: rule.Note.String(), Subject: Clean(c.Setting), Count: 1,
				Message:     fmt.Sprintf("%s for %s conflicts with %s: %s", x.Name.Words(), cut(f.Subject, rowWidth), Clean(c.Setting), Clean(c.Why)),
				Fix:         &Fix{Text: Clean(c.Instead)},
				Fingerprint: "HS604/" + string(x.Name) + "/" + Clean(c.Setting),
			})
		}
	}
	return out
}
