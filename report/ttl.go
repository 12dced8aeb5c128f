package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/ttlhist"
)

// TTL is what "herdscan ttl" found, ready to be written.
type TTL struct {
	Version  string
	Analysis *ttlhist.Analysis
	Coverage []Coverage
	Notes    []string // what the scan cost the server
	Top      int      // rows of the table at most; 0: 10
	Lang     string   // language of code snippets
}

// Document writes the analysis' findings.
func (r *TTL) Document(clock Clock) *Document {
	d := r.frame()
	for i := range r.Analysis.Findings {
		d.Findings = append(d.Findings, r.finding(&r.Analysis.Findings[i], clock))
	}
	slices.SortStableFunc(d.Findings, bySeverity)
	d.Finish()
	d.Next = ttlNext(d)
	return d
}

// frame is all of the document but its findings.
func (r *TTL) frame() *Document {
	d := New(r.Version, "ttl")
	d.Coverage, d.Notes = r.Coverage, r.Notes
	a := r.Analysis
	groups := r.ranked()
	if a.WithTTL > 0 {
		d.Graphs = r.graphs(groups)
		d.Tables = []Table{r.table(groups)}
	}
	for _, u := range a.Undecided {
		d.Undecided = append(d.Undecided, fmt.Sprintf("%s: %s", Clean(u.Pattern), u.Why))
	}
	if len(d.Undecided) == 0 && a.Keys > 0 {
		d.Undecided = tooFew(a.WithTTL)
	}
	d.Undecided = foldUndecided(d.Undecided)
	d.Notes = slices.Concat(r.sampleNotes(), a.Folds, d.Notes)
	return d
}

// fewestKeys is how many keys with a TTL a verdict needs.
const fewestKeys = 20

// tooFew says why a small cache gets no verdict.
func tooFew(withTTL uint64) []string {
	switch {
	case withTTL == 0:
		return []string{"no key has a TTL: nothing can expire together"}
	case withTTL < fewestKeys:
		return []string{fmt.Sprintf("%s with a TTL: too few to judge (need %d)", Count(withTTL, "keys"), fewestKeys)}
	default:
		return nil
	}
}

func ttlNext(d *Document) []string {
	if len(d.Findings) == 0 {
		return nil
	}
	return []string{"herdscan explain " + d.Findings[0].Rule, "herdscan ttl -o ttl.md"}
}

// ranked puts groups with a herd first, the tallest tooth first, then the
// largest ones.
func (r *TTL) ranked() []ttlhist.Group {
	groups := slices.Clone(r.Analysis.Groups)
	herd := map[string]bool{}
	for _, f := range r.Analysis.Findings {
		if f.Herd != nil && f.Severity >= rule.Warning {
			for _, p := range f.Patterns {
				herd[p] = true
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b ttlhist.Group) int {
		switch {
		case herd[a.Pattern] != herd[b.Pattern]:
			if herd[a.Pattern] {
				return -1
			}
			return 1
		case herd[a.Pattern] && a.Busiest != b.Busiest:
			return cmpDown(a.Busiest, b.Busiest)
		case a.Keys != b.Keys:
			return cmpDown(a.Keys, b.Keys)
		}
		return strings.Compare(a.Pattern, b.Pattern)
	})
	return groups
}

func cmpDown(a, b uint64) int {
	if a > b {
		return -1
	}
	if a < b {
		return 1
	}
	return 0
}

// graphs draws the whole keyspace, or the one group with the tallest herd.
func (r *TTL) graphs(groups []ttlhist.Group) []Graph {
	subject := r.Analysis.Total
	title := "all keys expiring per second"
	if len(groups) > 0 && len(groups[0].Teeth) > 0 {
		subject = groups[0]
		title = Clean(subject.Pattern) + " expiring per second"
	}
	g := expiryGraph(&subject, r.Analysis.Now, title)
	if len(g.Values) == 0 {
		return nil
	}
	return []Graph{g}
}

// expiryGraph is the busiest second of each step from now to a little behind
// the last expiry, or behind the last tooth where the rest is far off.
func expiryGraph(group *ttlhist.Group, now time.Time, title string) Graph {
	span := group.MaxLeft
	if n := len(group.Teeth); n > 0 {
		last := group.Teeth[n-1].To.Sub(now)
		if last > 0 && last < span/4 && group.InTeeth > 0.5 {
			span = last + last/10
		}
	}
	span = max(span, 10*time.Second)
	seconds := int64(span/time.Second) + 2
	step := max((seconds+maxPoints-1)/maxPoints, 1)
	values := make([]float64, (seconds+step-1)/step)
	for _, w := range busySeconds(group) {
		if i := (w.at - now.UnixMilli()) / 1000 / step; w.at >= now.UnixMilli() && i < int64(len(values)) {
			values[i] = max(values[i], w.keys)
		}
	}
	return Graph{
		Title: title, Unit: "keys/s", From: now.UTC(), Ahead: true,
		StepNS: step * int64(time.Second), Values: values,
	}
}

// A busySecond is the number of keys that expire within one second from at
// (Unix ms) on.
type busySecond struct {
	at   int64
	keys float64
}

// busySeconds slides a window of one second over a group's expiries. Seconds
// of the clock would cut a tooth in two.
func busySeconds(g *ttlhist.Group) []busySecond {
	bins := g.Expiries()
	out := make([]busySecond, len(bins))
	wide := max(g.Bin.Seconds(), 1) // keys of a wider bin are spread evenly in it
	count, end := 0.0, 0
	for i, b := range bins {
		for end < len(bins) && bins[end].At < b.At+1000 {
			count += float64(bins[end].Count)
			end++
		}
		out[i] = busySecond{b.At, count / wide}
		count -= float64(b.Count)
	}
	return out
}

func (r *TTL) table(groups []ttlhist.Group) Table {
	t := Table{Columns: []string{"keys", "count", "no TTL", "teeth", "spacing", "width", "in teeth", "busiest second", "× mean"}}
	top := r.Top
	if top <= 0 {
		top = 10
	}
	for i := range groups {
		if i == top {
			t.LeftOut = fmt.Sprintf("and %s more (--top N shows more)", Count(len(groups)-top, "patterns"))
			break
		}
		t.Rows = append(t.Rows, r.row(&groups[i]))
	}
	return t
}

func (r *TTL) row(g *ttlhist.Group) []string {
	const none = "—"
	row := []string{Clean(g.Pattern), r.estimate(g.Keys), none, none, none, none, none, none, none}
	if g.NoTTL > 0 {
		row[2] = r.estimate(g.NoTTL)
	}
	if len(g.Teeth) > 0 {
		row[3], row[5], row[6] = Int(len(g.Teeth)), Dur(max(g.Width, g.Bin)), Percent(g.InTeeth)
		if g.Spacing > 0 {
			row[4] = Dur(g.Spacing)
		}
	}
	if g.WithTTL > 0 {
		seconds := secondsOf(g.Teeth...)
		if seconds == 0 {
			seconds = (g.MaxLeft - g.MinLeft).Seconds()
		}
		busiest := r.estimateBusiest(g.Busiest, seconds)
		if g.BusiestEstimate && !r.sampled() {
			busiest = "≈ " + busiest
		}
		row[7] = busiest
		if g.Mean > 0 && g.Judged {
			row[8] = Float(float64(g.Busiest) / g.Mean)
		}
	}
	return row
}

// messages are the head lines, by rule. %s is the subject.
func ttlMessage(f *ttlhist.Finding) string {
	subject := Clean(f.Subject)
	switch f.Rule {
	case "HS401":
		if f.Herd != nil && len(f.Patterns) > 1 {
			return subject + ": keys of several patterns expire as one herd"
		}
		return subject + " expires as a herd"
	case "HS402":
		return fmt.Sprintf("%s: %s without a TTL", subject, Count(f.Count, "locks"))
	case "HS403":
		return subject + " may be evicted together with cache entries"
	case "HS404":
		return subject + ": a hot key is about to die"
	case "HS405":
		return subject + " has one fixed TTL: spread today, a herd after the next cold start"
	case "HS406":
		return fmt.Sprintf("%s: %s without a TTL", subject, Count(f.Count, "cache keys"))
	case "HS407":
		return subject + " expires on the wall clock"
	case "HS408":
		return subject + ": more keys expire in one second than the budget allows"
	case "HS409":
		return subject + ": two versions of one prefix are alive"
	default:
		return subject
	}
}

func (r *TTL) finding(f *ttlhist.Finding, clock Clock) Finding {
	out := Finding{
		Rule: f.Rule, Severity: f.Severity.String(), Subject: Clean(f.Subject), Count: f.Count,
		Message: ttlMessage(f), RefutedBy: sentenceEnd(f.Refutes), Fingerprint: f.Rule + "/" + Clean(f.Subject),
	}
	if f.Why != "" {
		why := sentence(f.Why)
		if r.sampled() {
			why = "In the sample: " + why
		}
		out.Details = append(out.Details, why)
	}
	if h := f.Herd; h != nil {
		r.herd(&out, f, h, clock)
	}
	for _, fact := range f.Facts {
		out.Details = append(out.Details, sentence(fact))
	}
	if n := f.Names; n != nil {
		out.Members = memberLines(n.Counts)
		out.Details = append(out.Details, exampleLine(n.Examples)...)
	}
	if out.Fix == nil && f.Fix != "" {
		out.Fix = &Fix{Text: Clean(f.Fix)}
	}
	return out
}

func memberLines(ms []ttlhist.Member) []string {
	var out []string
	for _, m := range ms {
		out = append(out, fmt.Sprintf("%s: %s of %s", Clean(m.Pattern), Int(m.Keys), Count(m.Of, "keys")))
	}
	return out
}

func exampleLine(examples []string) []string {
	if len(examples) == 0 {
		return nil
	}
	const most = 3
	var names []string
	for _, e := range examples[:min(len(examples), most)] {
		names = append(names, Clean(e))
	}
	return []string{"For example: " + strings.Join(names, ", ")}
}

func (r *TTL) herd(out *Finding, f *ttlhist.Finding, h *ttlhist.Herd, clock Clock) {
	logP := h.Log10P
	out.Log10P = &logP
	out.Herd = herdOf(f, h)
	out.Members = memberLines(h.Members)
	for _, t := range h.Teeth[:min(len(h.Teeth), maxTeeth)] {
		out.Teeth = append(out.Teeth, Tooth{At: t.From.UTC(), WidthNS: int64(t.To.Sub(t.From)), Count: t.Keys})
	}
	out.Details = append(out.Details, r.herdLines(f, h, clock)...)
	if f.Severity >= rule.Warning {
		r.advise(out, f)
	}
}

func herdOf(f *ttlhist.Finding, h *ttlhist.Herd) *Herd {
	out := &Herd{
		Keys: h.Keys, From: h.Next.From.UTC(), To: h.Next.To.UTC(), BusiestSec: h.Busiest,
		TTLNS: int64(h.Base.TTL), TTLAtLeast: int64(h.Base.AtLeast), SpacingNS: int64(h.Spacing), Teeth: len(h.Teeth),
	}
	if h.Base.TTL > 0 {
		out.TTLEvidence = h.Base.From.String()
	}
	if !h.BornFrom.IsZero() {
		from, to := h.BornFrom.UTC(), h.BornTo.UTC()
		out.BornFrom, out.BornTo = &from, &to
	}
	return out
}

// herdLines say when the herd dies next, when it was born, and how sure it is.
func (r *TTL) herdLines(f *ttlhist.Finding, h *ttlhist.Herd, clock Clock) []string {
	var lines []string
	next := fmt.Sprintf("Next: %s keys within %s", r.estimate(h.Next.Keys), Dur(width(h.Next)))
	if h.NextIn > 0 {
		next += " in " + Dur(h.NextIn.Round(time.Second))
	}
	next += fmt.Sprintf(", at %s; busiest second %s", clock.Time(h.Next.From), r.estimateBusiest(h.Next.Busiest, secondsOf(h.Next)))
	if h.Busiest > h.Next.Busiest {
		next += fmt.Sprintf(" (of the largest tooth: %s, at %s)", r.estimateBusiest(h.Busiest, secondsOf(h.Teeth...)), clock.Time(h.BusiestAt))
	}
	next += "."
	lines = append(lines, next)
	if !h.BornFrom.IsZero() {
		lines = append(lines, fmt.Sprintf("Born: %s keys were all written within %s at %s with a TTL of %s s (told by the %s).",
			r.estimate(h.Largest.Keys), Dur(max(h.BornTo.Sub(h.BornFrom), time.Second).Round(100*time.Millisecond)), clock.Time(h.BornFrom), Seconds(h.Base.TTL), h.Base.From))
	}
	if h.Base.TTL == 0 && h.Base.AtLeast > 0 {
		lines = append(lines, fmt.Sprintf("The TTL can't be told from this snapshot: it is at least %.0f s.", h.Base.AtLeast.Seconds()))
	}
	return append(lines, fmt.Sprintf("By chance as many would fall together with %s (%s).", Probability(h.Log10P), f.Confidence))
}

// sentence cleans a text and makes it a sentence.
func sentence(s string) string {
	s = sentenceEnd(s)
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// sentenceEnd cleans a text and ends it with a full stop.
func sentenceEnd(s string) string {
	s = Clean(s)
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func width(t ttlhist.Tooth) time.Duration { return max(t.To.Sub(t.From), time.Second) }

// percentFine writes small jitters with the figures they need.
func percentFine(x float64) string {
	p := math.Ceil(x*1000) / 10
	return strings.TrimSuffix(fmt.Sprintf("%.1f", p), ".0") + " %"
}
