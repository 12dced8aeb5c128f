package retry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// multiplied is the product of attempts from which HS207 speaks.
const multiplied = 9

func hs207() lint.Check {
	r := &rule.Rule{
		ID: "HS207", Name: "retries-multiply", Severity: rule.Note,
		Title: "Attempts of several layers multiply",
		Why: "A client library that tries 4 times through a proxy that tries 3 times sends 12 calls to a " +
			"service that can't answer one.",
		Decided: fmt.Sprintf("Policies of different layers (job, client library, mesh or proxy) are found in one "+
			"run and the product of their largest attempts is %d or more. Whether one call passes through all of "+
			"them is not in the files, so it is asked for (pedantic) and a note.", multiplied),
		Before: "-- application.yml --\nresilience4j.retry:\n  instances:\n    a:\n      maxAttempts: 4\n      waitDuration: 1s\n" +
			"      enableRandomizedWait: true\n" +
			"-- vs.yaml --\napiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http:\n  - retries: {attempts: 3}\n",
		After: "-- application.yml --\nresilience4j.retry:\n  instances:\n    a:\n      maxAttempts: 4\n      waitDuration: 1s\n" +
			"      enableRandomizedWait: true\n" +
			"-- vs.yaml --\napiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http:\n  - retries: {attempts: 0}\n",
	}
	return lint.Check{Rule: r, OptIn: "pedantic", CrossFile: true, Run: func(p *lint.Pass) { multiply(p, r) }}
}

// multiply reports the largest policy of the outermost layer, with the others
// as related places.
func multiply(p *lint.Pass, r *rule.Rule) {
	largest := make(map[Layer]*lint.Setting)
	attempts := func(s *lint.Setting) int { return s.Value.(*Policy).Attempts }
	each(p, func(s *lint.Setting, x *Policy) {
		if top := largest[x.Layer]; x.Layer != "" && x.Attempts > 1 && (top == nil || attempts(top) < x.Attempts) {
			largest[x.Layer] = s
		}
	})
	product := 1
	var chain []*lint.Setting
	var parts []string
	for _, layer := range []Layer{LayerJob, LayerClient, LayerMesh} {
		if s := largest[layer]; s != nil {
			chain = append(chain, s)
			product *= attempts(s)
			parts = append(parts, fmt.Sprintf("%d (%s)", attempts(s), s.Value.(*Policy).System))
		}
	}
	if len(chain) < 2 || product < multiplied {
		return
	}
	problem := chain[0].Problem(r, chain[0].Value.(*Policy).AttemptsAt, fmt.Sprintf(
		"attempts multiply: %s make %d calls of one where a call passes through all", strings.Join(parts, " × "), product))
	for _, s := range slices.Clip(chain[1:]) {
		loc := s.File.Location(s.Span)
		loc.Note = s.Subject
		problem.Related = append(problem.Related, loc)
	}
	p.Report(problem)
}
