package querylog

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// baseTTLs are the times to live that people write, in seconds.
var baseTTLs = []float64{5, 10, 15, 20, 30, 40, 45, 60, 90, 120, 180, 240, 300, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200, 10800, 14400, 21600, 28800, 43200, 86400}

// ttlBelow returns the largest time to live that people write at or just
// below a period, if the rest may be the time of a rebuild.
func ttlBelow(period time.Duration) (time.Duration, bool) {
	p := period.Seconds()
	best := 0.0
	for _, t := range baseTTLs {
		if t <= p+0.05 {
			best = t
		}
	}
	rest := p - best
	return time.Duration(best * 1e9), best > 0 && rest <= math.Max(3, math.Min(30, 0.15*best))
}

// ttlOf returns the time to live that a herd suggests, if the rest of its
// period may be the time of a rebuild: where the log has durations, a few times
// the longest usual one.
func (a *analyser) ttlOf(h *herd) (time.Duration, bool) {
	ttl, near := ttlBelow(h.comb.Period)
	slowest := time.Duration(0)
	for _, c := range h.classes {
		if c.timed > 0 {
			slowest = max(slowest, c.quantile(0.95))
		}
	}
	if near && slowest > 0 && h.comb.Period-ttl > max(3*time.Second, 4*slowest) {
		return 0, false
	}
	return ttl, near
}

// combCauses weighs the causes of a comb, from the log alone.
func (a *analyser) combCauses(h *herd) []Cause {
	var out []Cause
	keep := func(c Cause) {
		c.Score = math.Round(math.Max(0, math.Min(1, c.Score))*100) / 100
		if c.Score >= 0.2 {
			out = append(out, c)
		}
	}
	keep(a.replicaCause(h))
	keep(a.hotKeyCause(h))
	keep(a.ttlCause(h))
	keep(a.cronCause(h))
	keep(a.retryCause(h))
	best := 0.0
	for _, c := range out {
		best = math.Max(best, c.Score)
	}
	if best < 0.4 {
		out = append(out, Cause{Kind: CauseUnknown, Score: 0.4, Why: "from the log alone: nothing that is known to make teeth fits well", RefutedBy: "a schedule, a TTL or a retry delay of this period in a configuration"})
	}
	sortCauses(out)
	return out
}

func sortCauses(list []Cause) {
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].Score > list[j-1].Score; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// reads returns the share of a herd's statements that a cache could answer.
func (h *herd) reads() float64 {
	var reads, all uint64
	for _, m := range h.f.Members {
		if m.Follower {
			continue
		}
		all += m.Count
		if isRead(m.Shape) {
			reads += m.Count
		}
	}
	return float64(reads) / float64(max(all, 1))
}

// concurrent says whether a tooth is more than one connection's work.
func (h *herd) concurrent() bool {
	return h.f.HostsATooth > 1 || h.f.ConnsATooth > 1 || h.f.ConnsATooth == 0 && h.f.AtOnce > 1
}

func (a *analyser) replicaCause(h *herd) Cause {
	c := Cause{Kind: CauseReplicaJob, RefutedBy: "teeth that come from one client only once the job runs on one replica"}
	if !h.replica {
		return c
	}
	c.Score = 0.85
	if h.comb.Lock == comb.WallClock {
		c.Score = 0.95
	}
	if h.comb.Lock == comb.Drifting || h.comb.Lock == comb.Free {
		c.Score = 0.75
	}
	c.Why = fmt.Sprintf("from the log alone: %d clients send the same batch in each tooth", h.f.HostsATooth)
	return c
}

func (a *analyser) hotKeyCause(h *herd) Cause {
	c := Cause{Kind: CauseHotKey, RefutedBy: "teeth that stay when one caller alone may refill this value"}
	if h.replica || !h.concurrent() || h.f.Identical < 0.5 || h.reads() < 0.5 {
		return c
	}
	c.Score = 0.55 + 0.4*h.f.Identical
	if h.single {
		c.Score = 0.9
	}
	if h.comb.Lock == comb.WallClock {
		c.Score -= 0.25
	}
	c.Why = fmt.Sprintf("from the log alone: %.0f %% of a tooth is one identical statement", 100*h.f.Identical)
	if n := h.f.HostsATooth; n > 1 {
		c.Why += fmt.Sprintf(" from %d clients", n)
	}
	return c
}

func (a *analyser) ttlCause(h *herd) Cause {
	c := Cause{Kind: CauseTTL, RefutedBy: "teeth that keep their period when the TTL of these keys is changed"}
	switch h.comb.Lock {
	case comb.Drifting:
		c.Score = 0.6
	case comb.Free:
		c.Score = 0.5
	case comb.Undetermined:
		c.Score = 0.4
	case comb.WallClock:
		c.Score = 0.05
	}
	ttl, near := a.ttlOf(h)
	switch {
	case !near:
		c.Score -= 0.15
		c.Why = fmt.Sprintf("from the log alone: the period of %v keeps no schedule, as a TTL plus the time to rebuild does", round(h.comb.Period))
	default:
		c.Why = fmt.Sprintf("from the log alone: each period is a TTL of %v", round(ttl))
		if rest := h.comb.Period - ttl; rest >= time.Millisecond {
			c.Why += fmt.Sprintf(" plus %v", round(rest))
		} else {
			c.Why += ", with no time to rebuild"
		}
		if d := a.rebuild(h); d > 0 {
			if k := (h.comb.Period - ttl).Seconds() / d.Seconds(); k > 0.4 && k < 4 {
				c.Score += 0.15
				c.Why += fmt.Sprintf(", %.1f times the median Query_time of %v", k, round(d))
			}
		}
	}
	c.Score += 0.3 * (h.reads() - 0.6)
	if h.f.Identical < 0.5 && h.f.Texts > 2 {
		c.Score += 0.1
		if h.comb.Lock == comb.WallClock && h.f.HostsATooth > 1 && !h.replica {
			c.Score += 0.15 // several clients ask for different values: no job does that
		}
	} else {
		c.Score -= 0.15 * h.f.Identical
	}
	if h.comb.Lock == comb.WallClock && h.comb.Drift > 2*h.comb.DriftErr && h.comb.Drift > 50*time.Millisecond {
		c.Score += 0.2
	}
	if !h.concurrent() {
		c.Score -= 0.3
	}
	if h.replica {
		c.Score -= 0.3
	}
	return c
}

// rebuild returns the median duration of the main statement, 0 if unknown.
func (a *analyser) rebuild(h *herd) time.Duration {
	if h.main.timed == 0 {
		return 0
	}
	return h.main.quantile(0.5)
}

func (a *analyser) cronCause(h *herd) Cause {
	c := Cause{Kind: CauseCron, RefutedBy: "a tooth at a time when no schedule fires, or teeth that stay when the jobs are off"}
	switch h.comb.Lock {
	case comb.WallClock:
		c.Score = 0.7
	case comb.Undetermined:
		if _, near := ttlBelow(h.comb.Period); !near {
			return c
		}
		c.Score = 0.4
	default:
		return c
	}
	c.Why = fmt.Sprintf("from the log alone: the teeth keep their place on the wall clock, every %v", round(h.comb.Period))
	if h.comb.Lock == comb.Undetermined {
		c.Why = fmt.Sprintf("from the log alone: a schedule of %v can't be excluded", round(h.comb.Period-h.comb.Drift))
	}
	if h.f.HostsATooth == 1 {
		c.Score += 0.15
		c.Why += ", from one client"
	} else if h.f.HostsATooth > 2 {
		c.Score -= 0.15
	}
	if h.comb.Period.Round(time.Second)%time.Minute != 0 {
		c.Score -= 0.2
		c.Why += " (no crontab can do that: a timer)"
	}
	if past := pastMinute(h.comb.Teeth); past < 3*time.Second {
		c.Score += 0.1
		c.Why += ", " + afterMinute(past)
	}
	return c
}

// afterMinute writes how long after a full minute jobs start.
func afterMinute(past time.Duration) string {
	if past < 50*time.Millisecond {
		return "on the full minute"
	}
	return fmt.Sprintf("%.1f s past a full minute", past.Seconds())
}

// pastMinute returns how long after a full minute the median tooth begins.
func pastMinute(teeth []comb.Tooth) time.Duration {
	past := make([]float64, len(teeth))
	for i, t := range teeth {
		past[i] = float64(t.At.Add(time.Second / 2).Sub(t.At.Add(time.Second / 2).Truncate(time.Minute)))
	}
	return max(0, time.Duration(median(past))-time.Second/2)
}

func (a *analyser) retryCause(h *herd) Cause {
	c := Cause{Kind: CauseRetry, RefutedBy: "teeth that go on although every attempt succeeds"}
	teeth := h.comb.Teeth
	n := len(teeth)
	if n < 4 || h.comb.Period > 3*time.Minute {
		return c
	}
	first, last := teeth[0].At, teeth[n-1].At
	life := last.Sub(first)
	local := life < a.span/2 && first.Sub(a.out.From) > 2*h.comb.Period && a.out.To.Sub(last) > 2*h.comb.Period
	if !local {
		return c
	}
	c.Score = 0.45
	c.Why = fmt.Sprintf("from the log alone: %d waves %v apart, in %v of a log of %v only", n, round(h.comb.Period), round(life), round(a.span))
	var waves []wave
	for _, t := range teeth {
		waves = append(waves, wave{t.At.UnixNano(), t.Count})
	}
	if dies(waves) {
		c.Score += 0.25
		c.Why += ", each smaller"
	}
	for _, o := range a.outages {
		if d := first.UnixNano() - o.to; d > -int64(time.Minute) && d < stormStart {
			c.Score += 0.25
			c.Why += ", after an outage"
			break
		}
	}
	if repeats := h.main.n - min(h.main.texts.distinct(), h.main.n); a.factorOfAll([]*class{h.main}).times(repeats) > h.f.Count/2 && h.f.Identical < 0.5 {
		c.Score += 0.15
		c.Why += ", the same statements each time"
	}
	return c
}

// stormCauses gives the causes of a retry storm.
func (a *analyser) stormCauses(f *Finding, o outage, waves []wave) []Cause {
	why := fmt.Sprintf("from the log alone: %d shrinking waves, %v apart, after %s", len(waves), round(f.Spacing), o.why)
	if f.Growth > 1.3 {
		why = fmt.Sprintf("from the log alone: %d shrinking waves, pauses growing from %v by %.1f, after %s", len(waves), round(f.Spacing), f.Growth, o.why)
	}
	return []Cause{{Kind: CauseRetry, Score: 0.95, Why: why, RefutedBy: "waves that come without an outage before them"}}
}

// longCatchUp is from when on what follows an outage is no wave in step.
const longCatchUp = 10 * time.Second

// oneOffCauses gives the causes of a one-off tooth.
func (a *analyser) oneOffCauses(f *Finding) []Cause {
	reads := 0
	for _, m := range f.Members {
		if isRead(m.Shape) {
			reads++
		}
	}
	var out []Cause
	concurrent := f.HostsATooth > 1 || f.ConnsATooth > 1
	hot := f.Identical >= 0.5 && concurrent
	if hot && reads > 0 {
		out = append(out, Cause{
			Kind: CauseHotKey, Score: 0.8, RefutedBy: "copies that stay when one caller alone may refill this value",
			Why: fmt.Sprintf("from the log alone: %.0f %% of it is one identical statement, once", 100*f.Identical),
		})
	}
	if reads > 1 || reads == 1 && concurrent {
		c := Cause{
			Kind: CauseColdStart, Score: 0.7, RefutedBy: "no deploy, flush, restart or eviction of the cache at this time",
			Why: fmt.Sprintf("from the log alone: %d cacheable statements rise together, once", reads),
		}
		switch {
		case hot:
			c.Why = "from the log alone: it happened once"
		case reads == 1:
			c.Why = "from the log alone: different values of one cacheable statement are asked for together, once"
		}
		out = append(out, c)
	}
	if !f.Outage.IsZero() {
		why := "from the log alone: it follows an outage"
		if spread := f.Teeth[0].Width; spread >= longCatchUp {
			why += fmt.Sprintf(", and is spread over %v: they do not retry in step", round(spread.Round(time.Second)))
		}
		out = append(out, Cause{Kind: CauseRetry, Score: 0.75, Why: why, RefutedBy: "no failed attempts waiting at that time"})
	}
	if len(out) == 0 {
		why := "from the log alone: one batch, once"
		if concurrent {
			why = "from the log alone: many sent it at one moment, once, and no cache would answer it"
		}
		out = append(out, Cause{Kind: CauseUnknown, Score: 0.4, Why: why, RefutedBy: "a second one"})
	}
	sortCauses(out)
	return out
}

// stampedeCauses gives the causes of copies of one statement.
func (a *analyser) stampedeCauses(f *Finding, c *class, list []Burst) []Cause {
	score := 0.9
	why := fmt.Sprintf("from the log alone: up to %d copies of one statement within a second, from %d clients", f.Second, f.HostsATooth)
	if f.HostsATooth == 0 {
		why = fmt.Sprintf("from the log alone: up to %d copies of one statement within a second", f.Second)
	} else if f.HostsATooth == 1 {
		why = fmt.Sprintf("from the log alone: up to %d copies of one statement within a second, all from one client", f.Second)
	}
	if !isRead(c.shape) {
		return []Cause{{Kind: CauseUnknown, Score: 0.5, Why: why + ", and it writes: no cache would answer it", RefutedBy: "one client that sends it once"}}
	}
	out := []Cause{{Kind: CauseHotKey, Score: score, Why: why, RefutedBy: "copies that stay when one caller alone may refill this value"}}
	if len(list) == 1 && a.span > time.Minute {
		out = append(out, Cause{Kind: CauseColdStart, Score: 0.7, Why: "from the log alone: it happened once", RefutedBy: "no deploy, flush, restart or eviction of the cache at this time"})
	}
	return out
}

func missingCauses(f *Finding, unknown bool) []Cause {
	c := Cause{
		Kind: CauseMissingKey, Score: 0.9, RefutedBy: "rows that exist by now, or a caller that is meant to poll",
		Why: fmt.Sprintf("from the log alone: %d texts that found no row were sent %d times", f.Texts, f.Count),
	}
	if unknown {
		c.Score = 0.3
		texts := "one text was read"
		if f.Texts != 1 {
			texts = fmt.Sprintf("%d texts were read", f.Texts)
		}
		c.Why = fmt.Sprintf("from the log alone: %s %d times; whether a row was found is not in this log", texts, f.Count)
	}
	return []Cause{c}
}

// round writes a duration readably without hiding what matters.
func round(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= time.Second:
		d = d.Round(time.Millisecond)
	default:
		d = d.Round(time.Microsecond)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
