package report

import (
	"fmt"
	"slices"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report/attribute"
	"github.com/herdscan/herdscan/report/remedy"
	"github.com/herdscan/herdscan/ttlhist"
)

// advise weighs the remedies for the cause that all sources point at, with the
// numbers of all of them. It returns the conflicts with the configuration seen.
func (r *Incident) advise(f *Finding, v *attribute.Verdict) []Finding {
	if f.Severity == rule.Note.String() {
		return nil
	}
	return conflictsOf(f, f.Advise(r.remedyCase(v)))
}

// remedyCase puts together what the sources tell of a herd.
func (r *Incident) remedyCase(v *attribute.Verdict) remedy.Case {
	s := v.Best()
	var c remedy.Case
	if v.Cache >= 0 {
		k := r.Keys[v.Cache]
		c = TTLCase(k.Analysis, &k.Analysis.Findings[v.Finding], r.Lang)
	} else {
		q := r.Queries.Analysis.Findings[v.Finding]
		q.Causes = []querylog.Cause{{Kind: querylog.CauseKind(s.Kind)}}
		c = QueryCase(&q, r.Lang)
	}
	switch s.Kind {
	case attribute.WarmUp:
		c.Kind = remedy.WarmUpJob
	case attribute.TTL:
		c.Kind = remedy.TTLHerd
	}
	if s.TTL > 0 {
		c.TTL, c.TTLAtLeast = s.TTL, false
	}
	if s.Cache >= 0 && s.Cache < len(r.Keys) {
		r.Keys[s.Cache].configured(&c)
		c.Names = append(slices.Clone(c.Names), s.Patterns...)
	}
	c.Deploy = slices.ContainsFunc(r.Events, func(e attribute.Event) bool {
		return e.Kind == attribute.Deploy || e.Kind == attribute.Flush || e.Kind == attribute.Restart
	})
	return c
}

// configured adds what a look at a cache tells of its configuration.
func (r *TTL) configured(c *remedy.Case) {
	c.Policy = policyOf(r.Analysis)
	for i := range r.Analysis.Groups {
		if g := &r.Analysis.Groups[i]; g.Kind == ttlhist.LockKey && g.Keys > 0 {
			c.LocksBesideBlobs, c.LockTTL = true, g.Base.TTL
		}
	}
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
