package querylog

import (
	"fmt"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// sampled reports HS507: logs whose counts mislead.
func (a *analyser) sampled() {
	for _, v := range a.out.Coverage {
		f := Finding{Rule: "HS507", Severity: rule.Note, Subject: v.Source, Source: v.Source, Count: v.Read, Of: v.Read}
		switch {
		case v.SampleRate > 1:
			f.Reason = fmt.Sprintf("one of %d was logged (log_slow_rate_limit, by %s)", v.SampleRate, orWord(v.SampleKind, "an unknown rule"))
			f.Fix.Text = "SET GLOBAL log_slow_rate_limit = 1 while you look; until then counts are about " + fmt.Sprint(v.SampleRate) + " times larger"
		case v.SampleKind == SampledProcesses:
			f.Reason = "only statements caught running in the process list were counted: fast ones are missing"
			f.Fix.Text = "turn performance_schema on: its digests count every statement"
		case v.Timed >= minStatements && v.MinDuration >= 100*time.Millisecond:
			f.Reason = fmt.Sprintf("no statement below %v is in the log: counts are lower bounds, and a herd of fast statements shows only once the server is slow", v.MinDuration)
			f.Fix.Text = "SET GLOBAL long_query_time = 0 for a few minutes, or use the general log or herdscan querylog --live"
		default:
			continue
		}
		a.add(f)
	}
	if a.s.throttle > 0 {
		a.add(Finding{
			Rule: "HS507", Severity: rule.Note, Subject: "log_throttle_queries_not_using_indexes", Count: a.s.throttle, Of: a.s.throttle,
			Reason: fmt.Sprintf("%d lines stand for statements that the server left out", a.s.throttle),
			Fix:    Fix{Text: "SET GLOBAL log_throttle_queries_not_using_indexes = 0 while you look"},
		})
	}
}

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
