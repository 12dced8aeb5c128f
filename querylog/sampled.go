package querylog

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// sampled reports HS507: logs whose counts mislead.
func (a *analyser) sampled() {
	a.thresholds()
	for i := range a.out.Coverage {
		v := &a.out.Coverage[i]
		f := Finding{Rule: "HS507", Severity: rule.Note, Subject: v.Source, Source: v.Source, Count: v.Read, Of: v.Read}
		switch {
		case v.Read == 0:
			continue
		case a.o.SampleRate > 1 || len(v.Rates) > 0 && a.o.SampleRate != 1:
			f.Reason = a.sampling(v)
			f.Fix.Text = "SET GLOBAL log_slow_rate_limit = 1 for the minutes in which you look"
		case v.SampleKind == SampledProcesses:
			f.Reason = "only statements caught running in the process list were counted: fast ones are missing"
			f.Fix.Text = "turn performance_schema on: its digests count every statement"
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

// hides is the threshold from which a log hides what matters to herds.
const hides = 100 * time.Millisecond

// threshold returns the shortest duration that put statements of a source into
// its log, 0 if there is none that hides much. Statements that read rows may
// have been logged because they used no index, whatever their duration: those
// that read none are asked when they tell of a higher threshold.
func (v *Coverage) threshold() (least time.Duration, unindexed bool) {
	switch {
	case v.Timed < minStatements:
		return 0, false
	case v.MinDuration >= hides:
		return v.MinDuration, false
	case v.TimedIdle >= minStatements && v.MinIdle >= hides && v.MinIdle >= 2*v.MinDuration:
		return v.MinIdle, true
	}
	return 0, false
}

// thresholds tells which sources hold slow statements only: one finding for
// those of one threshold, as rotated files are.
func (a *analyser) thresholds() {
	type group struct {
		sources []*Coverage
		least   time.Duration
	}
	var groups []group
	index := map[string]int{}
	whole := 0 // sources that hide nothing
	for i := range a.out.Coverage {
		v := &a.out.Coverage[i]
		least, unindexed := v.threshold()
		if least == 0 {
			if v.Timed >= minStatements {
				whole++
			}
			continue
		}
		key := fmt.Sprint(roundDown(least), unindexed)
		k, ok := index[key]
		if !ok {
			k, index[key] = len(groups), len(groups)
			groups = append(groups, group{least: least})
		}
		groups[k].sources = append(groups[k].sources, v)
		groups[k].least = min(groups[k].least, least)
	}
	for _, g := range groups {
		first := g.sources[0]
		f := Finding{Rule: "HS507", Severity: rule.Note, Subject: first.Source, Source: first.Source}
		for _, v := range g.sources {
			f.Count += v.Read
		}
		f.Of = f.Count
		where := "in the log"
		if len(g.sources) > 1 {
			where = fmt.Sprintf("in this or %d more logs up to %s", len(g.sources)-1, g.sources[len(g.sources)-1].Source)
		}
		f.Reason = fmt.Sprintf("no statement below %v is %s: counts are lower bounds, and a herd of fast statements shows only once the server is slow", g.least, where)
		if _, unindexed := first.threshold(); unindexed {
			f.Reason += fmt.Sprintf("; statements that read rows are there from %v on, as log_queries_not_using_indexes logs them", first.MinDuration)
		}
		if whole > 0 || len(groups) > 1 {
			f.Reason += "; other logs here have another threshold, so what begins or ends between them may be that of the log"
		}
		f.Fix.Text = "SET GLOBAL long_query_time = 0 for a few minutes, or use the general log or herdscan querylog --live"
		a.add(f)
	}
}

// roundDown keeps the first digit of a duration: thresholds are round, and
// the shortest duration lies just above.
func roundDown(d time.Duration) time.Duration {
	unit := time.Duration(math.Pow10(int(math.Log10(float64(d)))))
	return d / unit * unit
}

// sampling says how a source was sampled, what was made of its counts, and
// what that hides.
func (a *analyser) sampling(v *Coverage) string {
	if a.o.SampleRate > 1 {
		return fmt.Sprintf("one of %g was logged (as the caller says); counts of findings are multiplied by it", a.o.SampleRate)
	}
	var parts, kinds []string
	var weighed uint64
	for _, p := range v.Rates {
		text := fmt.Sprintf("one of %d was logged (log_slow_rate_limit)", p.Rate)
		if len(v.Rates) > 1 {
			text += fmt.Sprintf(" in %d records from %s to %s", p.Count, p.From.Format(time.RFC3339), p.To.Format(time.RFC3339))
		}
		parts = append(parts, text)
		weighed += p.Count
		if told := kindText(p.Kind); told != "" && !strings.Contains(strings.Join(kinds, ""), told) {
			kinds = append(kinds, told)
		}
	}
	text := strings.Join(append([]string{strings.Join(parts, ", ")}, kinds...), ": ")
	if len(v.Rates) > 1 || a.out.MixedRates {
		text += "; the rate changes, so each count is multiplied by the rate of its own time"
	} else {
		text += "; counts of findings are multiplied by it"
	}
	if v.Always > 0 {
		text += fmt.Sprintf("; %d statements of %v and more are logged whatever the rate and stand for themselves (slow_query_log_always_write_time, if it was not set lower)", v.Always, AlwaysWritten)
	}
	if rest := v.Read - min(v.Read, weighed+v.Always); rest > 0 {
		text += fmt.Sprintf("; %d records name no rate and stand for themselves", rest)
	}
	return text
}

// kindText says what a kind of sampling does to a herd.
func kindText(kind string) string {
	switch kind {
	case "session":
		return "whole connections were logged or left out, so what one connection did is whole, and the error of a count is larger by the root of the statements a connection"
	case "query":
		return "single statements were left out, so bursts are thinned, and one of few statements may not be there at all"
	}
	return ""
}
