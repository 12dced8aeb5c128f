package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
)

// QueryLog is what "herdscan querylog" found, ready to be written.
type QueryLog struct {
	Version  string
	Summary  *querylog.Summary
	Analysis *querylog.Analysis
	Zone     *time.Location
	Top      int  // rows of the table at most; 0: 10
	Errors   bool // list the places that were not understood
	Lang     string
	Hidden   int  // findings that the caller took out of Analysis
	NoFiles  bool // it was a server: no file can be looked into once more
}

// Document writes the analysis' findings.
func (q *QueryLog) Document(clock Clock) *Document {
	d := q.frame(clock)
	d.Findings = q.findings(clock)
	if q.Hidden > 0 && len(d.Findings) == 0 {
		d.Verdict = "nothing here matches; " + q.hidden()
	} else if len(d.Findings) == 0 && len(d.Undecided) == 0 && !d.Incomplete() {
		d.Verdict = q.quiet()
	}
	d.Finish()
	d.Next = q.next(d)
	return d
}

// fewestTeeth is how many teeth make a comb sure.
const fewestTeeth = 4

// quiet says that nothing was found, and what could not have been.
func (q *QueryLog) quiet() string {
	a := q.Analysis
	span := a.To.Sub(a.From)
	return fmt.Sprintf("no herd found in %s over %s; a period above %s has fewer than %d teeth in it and can't be seen",
		Count(a.Statements, "statements"), Dur(span.Round(time.Second)), Dur((span / fewestTeeth).Round(time.Second)), fewestTeeth)
}

// frame is all of the document but its findings.
func (q *QueryLog) frame(clock Clock) *Document {
	d := New(q.Version, "querylog")
	a := q.Analysis
	for i := range a.Coverage {
		d.Coverage = append(d.Coverage, q.coverage(&a.Coverage[i], clock))
	}
	d.Notes = q.asides()
	if a.Statements > 0 && !a.From.IsZero() {
		d.Graphs = []Graph{q.graph()}
	}
	if t := q.table(); len(t.Rows) > 0 {
		d.Tables = []Table{t}
	}
	if a.Undecided != "" {
		d.Undecided = []string{Clean(a.Undecided)}
	}
	if q.Hidden > 0 {
		d.Notes = append(d.Notes, q.hidden())
	}
	return d
}

func (q *QueryLog) hidden() string {
	return Count(q.Hidden, "findings") + " not shown: --query and --host leave them out"
}

// findings are those of the analysis, in its order, with their remedies.
func (q *QueryLog) findings(clock Clock) []Finding {
	out := []Finding{}
	for i := range q.Analysis.Findings {
		f := &q.Analysis.Findings[i]
		out = append(out, q.finding(f, clock))
		if f.Severity >= rule.Warning {
			out[i].Advise(QueryCase(f, q.Lang))
		}
	}
	return out
}

func (q *QueryLog) next(d *Document) []string {
	if len(d.Findings) == 0 {
		return nil
	}
	next := []string{"herdscan explain " + d.Findings[0].Rule}
	if ts := d.Findings[0].Teeth; len(ts) > 0 && !q.NoFiles {
		next = append(next, "herdscan querylog --at "+ts[len(ts)/2].At.UTC().Format(time.RFC3339)+" FILE...")
	}
	return next
}

func (q *QueryLog) coverage(c *querylog.Coverage, clock Clock) Coverage {
	out := Coverage{
		Source: Clean(c.Source), Kind: c.Format.String(), Unit: "records",
		Read: c.Read, Total: c.Read + c.Skipped, Skipped: c.Skipped, Complete: c.Complete, Errors: []string{},
	}
	if c.Stopped != "" {
		out.Errors = append(out.Errors, Clean(c.Stopped))
		out.Complete = false
	}
	server := c.Server.String()
	if c.Version != "" {
		server += " " + c.Version
	}
	kind := strings.TrimPrefix(c.Format.String(), "mysql-") + " log"
	if c.Format == querylog.FormatUnknown {
		kind = "sampled"
	}
	out.Text = fmt.Sprintf("%s (%s), %s", kind, Clean(server), Count(c.Read, "records"))
	if c.Read == 0 && c.Stopped != "" {
		out.Text = "nothing read"
	}
	if !c.From.IsZero() {
		from, to := c.From.UTC(), c.To.UTC()
		out.From, out.To = &from, &to
		out.Text += ", " + clock.Span(c.From, c.To)
	}
	if c.Skipped > 0 {
		out.Text += fmt.Sprintf(", %s not understood", Count(c.Skipped, "places"))
		if !q.Errors {
			out.Text += " (list them: --errors)"
		}
	}
	out.Notes = q.caveats(c)
	return out
}

// caveats say how far the counts and times of a source can be trusted.
func (q *QueryLog) caveats(c *querylog.Coverage) []string {
	var notes []string
	add := func(n uint64, what, text string) {
		if n > 0 {
			notes = append(notes, Count(n, what)+" "+text)
		}
	}
	if q.Errors {
		for i := range c.Errors {
			notes = append(notes, "not understood: "+Clean(c.Errors[i].Error()))
		}
		if n := uint64(len(c.Errors)); c.Skipped > n {
			notes = append(notes, fmt.Sprintf("and %s more", Int(c.Skipped-n)))
		}
	}
	add(c.Untimed, "records", "before the first time of the log: counted, but not placed")
	add(c.Falsified, "records", "with a time that their session had set: not believed, placed by their neighbours")
	add(c.Repeated, "stamps", "in the hour that daylight saving time repeats: put in order by guess")
	add(c.Truncated, "statements", "longer than 1 MiB: told apart by their beginning and a hash of the rest")
	if c.ZoneAssumed {
		notes = append(notes, "its times name no zone: taken as "+c.Zone+" (--tz sets it)")
	}
	for _, n := range c.Notes {
		notes = append(notes, Clean(n))
	}
	if c.ServerGuessed {
		notes = append(notes, "the log does not tell its server, so start times rest on a guess (--server sets it)")
	}
	return notes
}

// asides are what the log holds besides the application.
func (q *QueryLog) asides() []string {
	a := q.Analysis
	var notes []string
	if a.Own > 0 {
		notes = append(notes, fmt.Sprintf("left out: %s of herdscan itself", Count(a.Own, "statements")))
	}
	if a.Throttled > 0 {
		notes = append(notes, fmt.Sprintf("left out: %s about statements that the server suppressed", Count(a.Throttled, "lines")))
	}
	switch {
	case a.MixedRates:
		notes = append(notes, fmt.Sprintf("the log is sampled at changing rates: each count of a finding is multiplied by the rate of its own time (%s on average), records are not; clients and texts are lower bounds", Float(a.SampleRate)))
	case a.SampleRate > 1:
		notes = append(notes, fmt.Sprintf("one logged statement stands for %s: counts of findings are multiplied by that, records are not; clients and texts are lower bounds", Float(a.SampleRate)))
	}
	f := a.Folded
	if f.Classes > 0 {
		notes = append(notes, fmt.Sprintf("memory is bounded: about %s (%s) were folded into one; those that came again are counted from then on", Count(f.Classes, "rare shapes"), Count(f.Events, "statements")))
	}
	if f.Hosts > 0 {
		notes = append(notes, fmt.Sprintf("memory is bounded: %s came from clients beyond those told apart", Count(f.Hosts, "statements")))
	}
	if f.Missing > 0 {
		notes = append(notes, fmt.Sprintf("memory is bounded: %s of texts beyond those followed", Count(f.Missing, "misses")))
	}
	if f.Bursts > 0 {
		notes = append(notes, fmt.Sprintf("memory is bounded: %s of identical statements were not kept, the smaller ones; copies, clients of them and what could be saved are lower bounds", Count(f.Bursts, "bursts")))
	}
	if f.Bin > a.Resolution && f.Bin > time.Second {
		notes = append(notes, "memory is bounded: starts were rounded to "+Dur(f.Bin)+"; herds narrower or faster than that are not seen")
	}
	if f.Clients {
		notes = append(notes, "memory is bounded: who sent a statement is told for bursts of one text only; --from and --to on a part of the log tell more")
	}
	return notes
}

// graph draws the members of the first herd, or all statements.
func (q *QueryLog) graph() Graph {
	title, s := "statements per second", (*comb.Series)(nil)
	for i := range q.Analysis.Findings {
		f := &q.Analysis.Findings[i]
		if len(f.Teeth) > 0 && len(f.Members) > 0 {
			var hashes []uint64
			for _, m := range f.Members {
				if !m.Follower {
					hashes = append(hashes, m.Hash)
				}
			}
			title, s = Clean(f.Subject)+" per second", q.Summary.Starts(hashes...)
			break
		}
	}
	if s == nil || s.Total() == 0 {
		s = q.Summary.Starts()
	}
	if r := q.Analysis.SampleRate; r > 1 {
		s = timesSeries(s, r)
	}
	g := seriesGraph(s, q.Analysis.From, q.Analysis.To, title)
	g.Unit = "queries/s"
	return g
}

// timesSeries multiplies the counts of a series, which may be a sample.
func timesSeries(s *comb.Series, rate float64) *comb.Series {
	out := comb.NewSeries(s.BinWidth())
	for b := range s.Bins() {
		out.Add(b.At, uint64(math.Round(float64(b.N)*rate)))
	}
	return out
}

func (q *QueryLog) table() Table {
	t := Table{Columns: []string{"query", "rule", "every", "teeth", "in teeth", "same second", "hosts"}, Left: []bool{true, true}}
	top := q.Top
	if top <= 0 {
		top = 10
	}
	for i := range q.Analysis.Findings {
		f := &q.Analysis.Findings[i]
		if f.Rule == "HS507" {
			continue // about a source, not about a query
		}
		if len(t.Rows) == top {
			t.LeftOut = fmt.Sprintf("and %s more (--top N shows more)", Count(len(q.Analysis.Findings)-top, "findings"))
			break
		}
		t.Rows = append(t.Rows, queryRow(f))
	}
	return t
}

// How much of a statement is shown where it has no line of its own.
const (
	rowWidth     = 72
	messageWidth = 120
)

func queryRow(f *querylog.Finding) []string {
	const none = "—"
	row := []string{cut(Clean(f.Subject), rowWidth), f.Rule, none, none, none, none, none}
	if c := f.Comb; c != nil {
		row[2], row[3], row[4] = Dur(c.Period), Int(len(c.Teeth)), Percent(c.Share)
	} else if len(f.Teeth) > 0 {
		row[3] = Int(len(f.Teeth))
	}
	if f.Second > 0 {
		row[5] = Int(f.Second)
	}
	if f.HostTotal > 0 {
		row[6] = Int(f.HostTotal)
	}
	return row
}

func (q *QueryLog) finding(f *querylog.Finding, clock Clock) Finding {
	out := Finding{
		Rule: f.Rule, Severity: f.Severity.String(), Subject: Clean(f.Subject), Count: f.Count,
		Message: queryMessage(f), Members: queryMembers(f), Teeth: teethOf(f.Teeth), Fingerprint: f.Fingerprint,
		Also: f.Also, PartOf: f.PartOf,
	}
	out.Details = append(out.Details, q.measured(f, clock)...)
	if s := Clean(f.Subject); cut(s, messageWidth) != s {
		out.Details = append(out.Details, "Statement: "+s)
	}
	if line := partLine(f); line != "" {
		out.Details = append(out.Details, line)
	}
	if f.Reason != "" {
		out.Details = append(out.Details, sentence("a "+f.Severity.String()+": "+f.Reason))
	}
	if f.Comb != nil {
		out.Comb = combOf(*f.Comb, q.Zone)
		logP := f.Comb.LogP
		out.Log10P = &logP
	}
	for _, c := range f.Causes {
		out.Causes = append(out.Causes, Cause{Kind: string(c.Kind), Score: c.Score, Why: queryCause(f, c), RefutedBy: trimStop(c.RefutedBy)})
	}
	if f.Fix.Text != "" {
		out.Fix = queryFix(f)
	}
	return out
}

// partLine says of which finding another is a part, unless its reason does.
func partLine(f *querylog.Finding) string {
	switch {
	case f.PartOf == "" || strings.Contains(f.Reason, f.PartOfRule):
		return ""
	case f.Rule == "HS503":
		return "These are the teeth told under " + f.PartOfRule + ": one herd, seen as a job."
	case f.Severity >= rule.Warning:
		return "It is a part of the herd told under " + f.PartOfRule + ", and needs its own remedy."
	default:
		return "It is a part of the herd told under " + f.PartOfRule + "."
	}
}

// queryCause names a cause in words.
func queryCause(f *querylog.Finding, c querylog.Cause) string {
	name := map[querylog.CauseKind]string{
		querylog.CauseTTL: "cached values with one TTL", querylog.CauseHotKey: "one cached value that many callers refill",
		querylog.CauseColdStart: "a cold cache", querylog.CauseCron: "jobs on a schedule", querylog.CauseRetry: "retries in step",
		querylog.CauseReplicaJob: "one job on every replica", querylog.CauseMissingKey: "absence that is not cached",
	}[c.Kind]
	if f.Rule == "HS504" && c.Kind == querylog.CauseRetry {
		name = "attempts that failed or waited" // once: no waves that could be in step
	}
	why := trimStop(c.Why)
	if name == "" {
		return why
	}
	return name + ", " + why
}

// trimStop cleans a sentence of which the writer puts the full stop.
func trimStop(s string) string { return strings.TrimSuffix(Clean(s), ".") }

func queryMessage(f *querylog.Finding) string {
	subject := cut(Clean(f.Subject), messageWidth)
	if n := len(f.Members) - 1; n > 0 && f.Rule != "HS507" {
		more := "1 other shape"
		if n > 1 {
			more = Int(n) + " other shapes"
		}
		subject += " and " + more
	}
	switch f.Rule {
	case "HS501":
		return fmt.Sprintf("%s: about %s come together every %s", subject, Count(uint64(math.Round(f.Comb.Height)), "queries"), every(*f.Comb))
	case "HS502":
		if f.Second > 2*f.AtOnce {
			return fmt.Sprintf("%s: up to %s within a second", subject, Count(f.Second, "copies of one statement"))
		}
		return fmt.Sprintf("%s: up to %s at once", subject, Count(f.AtOnce, "copies of one statement"))
	case "HS503":
		return fmt.Sprintf("%s: every one of %s runs the same batch at one time", subject, Count(f.HostsATooth, "clients"))
	case "HS504":
		return fmt.Sprintf("%s: one-off tooth of %s", subject, Count(f.Count, "queries"))
	case "HS505":
		return fmt.Sprintf("%s: a retry storm of %s", subject, Count(f.Count, "queries"))
	case "HS506":
		if rowsUnknown(f) {
			return fmt.Sprintf("%s: the same rows are asked for again and again, and may be missing", subject)
		}
		return fmt.Sprintf("%s: the same missing row is asked for again and again", subject)
	case "HS507":
		return fmt.Sprintf("%s does not hold every statement, so counts mislead", Clean(f.Subject))
	default:
		return subject
	}
}

// rowsUnknown says whether the log of reads that may find nothing has no row
// counts.
func rowsUnknown(f *querylog.Finding) bool {
	return f.Rule == "HS506" && len(f.Causes) > 0 && f.Causes[0].Score < 0.5
}

// measured are the figures of a finding, each with its unit and denominator.
func (q *QueryLog) measured(f *querylog.Finding, clock Clock) []string {
	var lines []string
	if c := f.Comb; c != nil && f.Rule == "HS505" {
		lines = append(lines, fmt.Sprintf("%s from %s to %s, %s wide; %s of %s lie in them; busiest second %s.",
			Count(len(c.Teeth), "waves"), clock.Time(c.Teeth[0].At), clock.Time(c.Teeth[len(c.Teeth)-1].At), Dur(c.Width), Percent(c.Share), Count(f.Of, "queries"), Int(c.Peak)))
	} else if c != nil {
		lines = append(lines, fmt.Sprintf("%s seen, %s missed, %s wide; %s of %s lie in them; busiest second %s over %s queries/s between the teeth (%s).",
			Count(len(c.Teeth), "teeth"), Int(c.Missing), Dur(c.Width), Percent(c.Share), Count(f.Of, "queries"), Int(c.Peak), Float(c.Baseline), Probability(c.LogP)))
		lines = append(lines, fmt.Sprintf("First tooth %s, last %s; the next would fall at about %s.",
			clock.Time(c.Teeth[0].At), clock.Time(c.Teeth[len(c.Teeth)-1].At), clock.Time(c.Teeth[len(c.Teeth)-1].At.Add(c.Period).Round(time.Second))))
	} else if len(f.Teeth) > 0 {
		t := f.Teeth[0]
		where := "One tooth at"
		if n := len(f.Teeth); n > 1 {
			where = Count(n, "teeth") + ", the first at"
		}
		lines = append(lines, fmt.Sprintf("%s %s, %s in %s; busiest second %s.",
			where, clock.Time(t.At), Count(t.Count, "queries"), Dur(t.Width), Count(f.Second, "queries")))
	}
	if line := burstLine(f, clock); line != "" {
		lines = append(lines, line)
	}
	if f.Error > 0 {
		lines = append(lines, fmt.Sprintf("Estimated from a sample: %s ± %s (one standard error).", Count(f.Count, "queries"), Int(f.Error)))
	}
	if f.HostTotal > 0 {
		lines = append(lines, fmt.Sprintf("From %s: %s.", Count(f.HostTotal, "clients"), hostList(f.Hosts)))
	}
	if f.Avoidable > 0 {
		least := ""
		if f.Rule == "HS501" || f.Rule == "HS504" {
			least = "At least "
		}
		why := "they ask for what was being asked for already"
		switch f.Rule {
		case "HS503":
			why = "they do what another client did"
		case "HS506":
			why = "they ask again for what was not there"
		}
		lines = append(lines, fmt.Sprintf("%s%s of %s could have been saved: %s.", least, Int(f.Avoidable), Count(f.Count, "queries"), why))
	}
	if f.Rule == "HS505" && f.Spacing > 0 {
		line := fmt.Sprintf("Waves come %s apart.", Dur(f.Spacing))
		if f.Growth != 1 {
			line = fmt.Sprintf("The first pause is %s, and each is about %s times the one before.", Dur(f.Spacing), Float(f.Growth))
		}
		lines = append(lines, line)
	}
	if !f.Outage.IsZero() {
		lines = append(lines, fmt.Sprintf("It follows an outage that ended at %s.", clock.Time(f.Outage)))
	}
	if f.Rate > 0 {
		what := "repeated misses"
		if rowsUnknown(f) {
			what = "repeated reads"
		}
		lines = append(lines, fmt.Sprintf("%s %s a second, over %s.", Float(f.Rate), what, Count(f.Texts, "texts")))
	}
	return lines
}

func burstLine(f *querylog.Finding, clock Clock) string {
	if len(f.Bursts) == 0 {
		return ""
	}
	b := f.Bursts[0]
	line := fmt.Sprintf("Largest burst of one identical text: %s within %s at %s, up to %s at once", Count(b.Count, "copies"), Dur(max(b.Span, time.Millisecond)), clock.Time(b.Start), Int(b.Peak))
	if b.Hosts > 0 {
		line += ", from " + Count(b.Hosts, "clients")
	}
	return line + "."
}

func hostList(hosts []querylog.Host) string {
	const most = 5
	var parts []string
	for _, h := range hosts[:min(len(hosts), most)] {
		parts = append(parts, fmt.Sprintf("%s %s", Clean(h.Name), Int(h.Count)))
	}
	if len(hosts) > most {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// maxMembers is the most members that a finding lists.
const maxMembers = 200

func queryMembers(f *querylog.Finding) []string {
	if len(f.Members) < 2 {
		return nil
	}
	var out []string
	for i, m := range f.Members {
		if i == maxMembers {
			out = append(out, fmt.Sprintf("and %s more", Count(len(f.Members)-i, "shapes")))
			break
		}
		role := ""
		if m.Follower {
			role = " (accompanies it)"
		}
		out = append(out, fmt.Sprintf("%s: %s of %s%s", Clean(m.Shape), Int(m.Count), Count(m.Total, "queries"), role))
	}
	return out
}

// queryFix is the fix of the analysis, for what no remedy is weighed for.
func queryFix(f *querylog.Finding) *Fix {
	fix := &Fix{Text: Clean(f.Fix.Text)}
	if e := f.Fix.Effect; e != nil {
		fix.Effect = &Effect{PeakBefore: e.PeakBefore, PeakAfter: math.Ceil(e.PeakAfter), Unit: e.Unit}
		fix.Effects = []string{secondOf(f.Rule) + "  " + fix.Effect.words()}
	}
	return fix
}
