package timing

import (
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// cronJob is an entry of a crontab with what its format knows.
type cronJob struct {
	*lint.Entry
	*job.CrontabJob
}

// tables are the crontabs of a run, each with its jobs in order.
func tables(p *lint.Pass) (sorted [][]cronJob) {
	index := map[*job.Crontab]int{}
	for _, e := range p.Entries {
		d, ok := e.Detail.(*job.CrontabJob)
		if !ok {
			continue
		}
		at, ok := index[d.Table]
		if !ok {
			at = len(sorted)
			index[d.Table] = at
			sorted = append(sorted, nil)
		}
		sorted[at] = append(sorted[at], cronJob{e, d})
	}
	return sorted
}

// tableProblem makes a problem at a place of a crontab.
func tableProblem(r *ruleDoc, t *job.Crontab, span lint.Span, key, message string) lint.Problem {
	problem := lint.NewProblem(r, t.File, span, key, message)
	problem.Key = key
	return problem
}
