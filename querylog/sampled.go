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
		case a.rateOf(&v) > 1:
			f.Reason = a.sampling(&v)
			f.Fix.Text = "SET GLOBAL log_slow_rate_limit = 1 for the minutes in which you look"
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

// sampling says how a source was sampled, what was made of its counts, and
// what that hides.
func (a *analyser) sampling(v *Coverage) string {
	said := "as the caller says"
	if v.SampleRate > 0 {
		said = "log_slow_rate_limit"
	}
	text := fmt.Sprintf("one of %g was logged (%s)", a.rateOf(v), said)
	switch v.SampleKind {
	case "session":
		text += ": whole connections were logged or left out, so what one connection did is whole, and the error of a count is larger by the root of the statements a connection"
	case "query":
		text += ": single statements were left out, so bursts are thinned, and one of few statements may not be there at all"
	}
	if a.out.MixedRates {
		return text + "; other sources were logged at another rate, so counts are those of the logs"
	}
	return text + "; counts of findings are multiplied by it"
}
