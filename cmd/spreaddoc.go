package cmd

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
	"github.com/herdscan/herdscan/watch/spread"
)

// A spreadDoc is what a run of spread has to say.
type spreadDoc struct {
	coverage []report.Coverage
	notes    []string

	plan    *spread.Plan // of a new run
	log     *spread.Log  // of --yes, --resume and --undo
	undoing bool

	result *spread.Result // of writing; nil: nothing was written
	could  *spread.Result // what --undo would do
}

// wrote takes in what was written.
func (d *spreadDoc) wrote(log *spread.Log, result *spread.Result, x *scan.Expirer, took time.Duration) {
	d.log, d.result = log, result
	sent := result.Done()
	m := x.Impact()
	if m.Pages == 0 {
		return
	}
	line := fmt.Sprintf("writing: %s compared and set by %s in %s", report.Count(sent, "keys"), x.Method(), report.Dur(max(took.Round(time.Millisecond), time.Millisecond)))
	if took > 0 {
		line += fmt.Sprintf(", %s a second", report.Int(int64(float64(sent)/took.Seconds())))
	}
	if m.PingIdle > 0 && m.PingScan > 0 {
		line += fmt.Sprintf("; PING %s before, %s meanwhile, %s", report.Dur(m.PingIdle), report.Dur(m.PingScan), report.Count(m.Backoffs, "back-offs"))
	}
	d.notes = append(d.notes, line)
}

// reached notes that a log is of a server of another name.
func (d *spreadDoc) reached(r *scan.Redis, log *spread.Log) {
	d.coverage = []report.Coverage{{
		Source: r.String(), Kind: "redis", Unit: "keys", Read: uint64(log.Keys), Total: uint64(log.Keys), Complete: true, Errors: []string{},
		Text: fmt.Sprintf("log %s of %s: %s of %s", report.Clean(log.Path), log.Made.UTC().Format(time.RFC3339), report.Count(log.Keys, "keys"), report.Clean(log.Pattern)),
	}}
	if log.Source != r.String() {
		d.notes = append(d.notes, fmt.Sprintf("the log is of %s: a key of another server is only touched if it has the very expiry that the log says", report.Clean(log.Source)))
	}
}

// document writes it all down.
func (d *spreadDoc) document(clock report.Clock) *report.Document {
	doc := report.New(version, "spread")
	doc.Coverage = append(doc.Coverage, d.coverage...)
	if d.log != nil && len(doc.Coverage) == 0 {
		doc.Coverage = []report.Coverage{{
			Source: report.Clean(d.log.Path), Kind: "spread-log", Unit: "keys", Read: uint64(d.log.Keys), Total: uint64(d.log.Keys), Complete: true,
			Errors: []string{}, Text: fmt.Sprintf("plan of %s for %s of %s", d.log.Made.UTC().Format(time.RFC3339), report.Count(d.log.Keys, "keys"), report.Clean(d.log.Pattern)),
		}}
	}
	d.unreached(doc)
	if d.plan != nil {
		d.describePlan(doc, clock)
	}
	if r := d.outcome(); r != nil {
		doc.Tables = append(doc.Tables, d.outcomes(r))
	}
	doc.Notes = append(doc.Notes, d.notes...)
	doc.Verdict = d.verdict()
	doc.Finish()
	doc.Next = d.next()
	return doc
}

// outcome is what was done, or would be.
func (d *spreadDoc) outcome() *spread.Result {
	if d.result != nil {
		return d.result
	}
	return d.could
}

// unreached puts what went wrong while writing into the coverage.
func (d *spreadDoc) unreached(doc *report.Document) {
	if d.result == nil || len(d.result.Errors) == 0 {
		return
	}
	c := &doc.Coverage[0]
	c.Complete = false
	for _, e := range d.result.Errors {
		c.Errors = append(c.Errors, report.Clean(strings.ReplaceAll(e, "\n", "; ")))
	}
}

// describePlan shows what the plan does.
func (d *spreadDoc) describePlan(doc *report.Document, clock report.Clock) {
	p := d.plan
	name := report.Clean(p.Pattern)
	if len(p.Changes) > 0 {
		doc.Graphs = []report.Graph{
			loadGraph(p, p.Before, name+" expiring per second, before"),
			loadGraph(p, p.After, name+" expiring per second, after"),
		}
	}
	keys := func(n uint64) string { return report.Count(n, "keys") }
	doc.Tables = append(doc.Tables, report.Table{
		Columns: []string{"keys", "with a TTL", "moved", "busiest second", "after"},
		Rows: [][]string{
			{name, report.Int(p.Keys), report.Int(len(p.Changes)), keys(p.Before.Busiest), keys(p.After.Busiest)},
			{"all that is refilled", "", report.Int(len(p.Changes)), keys(p.AllBefore.Busiest), keys(p.AllAfter.Busiest)},
		},
	})
	if len(p.Teeth) > 0 {
		doc.Tables = append(doc.Tables, teethTable(p, clock))
	}
	doc.Notes = append(doc.Notes, planNotes(p)...)
	if !p.Reached {
		doc.Findings = append(doc.Findings, unreachable(p))
	}
}

// loadGraph draws the keys of each second from now to the last tooth, before
// or after, on one scale of time.
func loadGraph(p *spread.Plan, l spread.Load, title string) report.Graph {
	const maxPoints = 720
	now := p.Now.UnixMilli()
	end := p.Teeth[len(p.Teeth)-1].Tooth.To
	for _, c := range p.Changes[len(p.Changes)-1:] {
		if last := time.UnixMilli(c.New); last.After(end) {
			end = last
		}
	}
	seconds := (end.UnixMilli()-now)/1000*21/20 + 2
	step := max((seconds+maxPoints-1)/maxPoints, 1)
	values := make([]float64, (seconds+step-1)/step)
	for _, s := range l.Seconds {
		if i := (s.At - now) / 1000 / step; i < int64(len(values)) {
			values[i] = max(values[i], float64(s.Keys))
		}
	}
	return report.Graph{Title: title, Unit: "keys/s", From: p.Now.UTC(), StepNS: step * int64(time.Second), Values: values, Ahead: true}
}

func teethTable(p *spread.Plan, clock report.Clock) report.Table {
	const most = 12
	t := report.Table{Columns: []string{"tooth at", "in", "keys", "busiest second", "moved", "new expiries in"}}
	for i := range p.Teeth {
		if i == most {
			t.LeftOut = fmt.Sprintf("and %s more", report.Count(len(p.Teeth)-most, "teeth"))
			break
		}
		tooth := &p.Teeth[i]
		row := []string{
			clock.Time(tooth.Tooth.From), report.Dur(tooth.Tooth.From.Sub(p.Now).Round(time.Second)), report.Int(tooth.Keys),
			report.Count(tooth.Busiest, "keys"), report.Int(tooth.Move), "—",
		}
		if tooth.Move > 0 {
			row[5] = report.Dur(tooth.From.Sub(p.Now).Round(time.Second)) + " – " + report.Dur(tooth.To.Sub(p.Now).Round(time.Second))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// planNotes are what to know before --yes.
func planNotes(p *spread.Plan) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if len(p.Changes) > 0 {
		if p.Kind == ttlhist.Session && p.EarlierMost > 0 {
			add("WARNING: these are sessions (%s): whoever has one is logged out up to %s earlier", report.Clean(p.KindWhy), report.Dur(p.EarlierMost))
		}
		add("lives of the moved keys: %s", livesText(p))
		if p.Jitter > 0 && p.TTLKnown {
			add("--jitter %s is a part of their TTL of %s", report.Percent(p.Jitter), report.Dur(p.TTL))
		} else if p.Jitter > 0 {
			add("--jitter %s is a part of the longest remaining time, %s: their TTL is not known, and no shorter", report.Percent(p.Jitter), report.Dur(p.TTL.Round(time.Second)))
		}
		add("the cause stays: whatever writes these keys with one TTL will load the next herd (herdscan ttl has the fix)")
		add("writing takes %s at most, and needs a user with: %s", report.Dur(max(p.Writing.Round(time.Second), time.Second)), report.Clean(scan.WriteACL(scan.KeyGlob(p.Pattern))))
	}
	for _, left := range []struct {
		n   uint64
		why string
	}{
		{p.NoTTL, "have no TTL: never touched"},
		{p.Guarded, "of the row are locks, queues or counters by their own names: never touched"},
		{p.Unknown, "are counted to the row, but their names do not show it: not touched"},
		{p.Missed, "die before anything can be written: too late for them"},
	} {
		if left.n > 0 {
			add("%s %s", report.Count(left.n, "keys"), left.why)
		}
	}
	return notes
}

func livesText(p *spread.Plan) string {
	if !p.AllowLonger {
		return fmt.Sprintf("%s shorter on average, %s at most; none longer", report.Dur(p.EarlierMean.Round(time.Second)), report.Dur(p.EarlierMost.Round(time.Second)))
	}
	return fmt.Sprintf("at most %s shorter and %s longer", report.Dur(p.EarlierMost.Round(time.Second)), report.Dur(p.LaterMost.Round(time.Second)))
}

// unreachable is the finding that the target can't be met.
func unreachable(p *spread.Plan) report.Finding {
	name := report.Clean(p.Pattern)
	f := report.Finding{
		Rule: "HS401", Severity: rule.Warning.String(), Subject: name, Count: p.Before.Busiest, Fingerprint: "HS401/" + name,
		Message: fmt.Sprintf("%s: no spread reaches %s in one second", name, report.Count(int64(math.Round(p.Target)), "keys")),
		Details: []string{fmt.Sprintf("The best that can be done leaves %s in the busiest second, instead of %s.", report.Count(p.After.Busiest, "keys"), report.Int(p.Before.Busiest))},
	}
	if !p.AllowLonger {
		f.Details = append(f.Details, fmt.Sprintf("Lives are only shortened, and there are only %s until the first tooth.", report.Dur(p.Teeth[0].Tooth.From.Sub(p.Now).Round(time.Second))))
		f.Fix = &report.Fix{Text: "let keys live longer (--allow-longer), take a higher target, or let one caller refill each key (single-flight)"}
	}
	return f
}

// outcomes says what became of the keys.
func (d *spreadDoc) outcomes(r *spread.Result) report.Table {
	t := report.Table{Columns: []string{"outcome", "keys"}, Rows: [][]string{}}
	written := "written"
	switch {
	case d.could != nil && d.result == nil:
		written = "still as written: would be put back"
	case d.undoing:
		written = "put back"
	}
	for _, row := range []struct {
		o    scan.Outcome
		text string
	}{
		{scan.Written, written},
		{putBack, "with their old expiry already"},
		{scan.Changed, "rewritten meanwhile: left alone"},
		{scan.Persistent, "without a TTL by now: left alone"},
		{scan.Vanished, "gone"},
		{scan.Late, "too late: the new expiry is past, left alone"},
		{scan.Refused, "refused by the server (ACL)"},
		{scan.Unreached, "not reached"},
	} {
		if n := r.Counts[row.o]; n > 0 || row.o == scan.Written {
			t.Rows = append(t.Rows, []string{row.text, report.Int(n)})
		}
	}
	return t
}

func (d *spreadDoc) verdict() string {
	switch {
	case d.undoing && d.result == nil:
		return fmt.Sprintf("dry run: nothing was written; %s would get their old expiry back", report.Count(d.could.Counts[scan.Written], "keys"))
	case d.undoing:
		return fmt.Sprintf("%s of %s have their old expiry", report.Int(d.result.Counts[scan.Written]), report.Count(d.result.Total, "keys"))
	case d.result != nil:
		return d.writtenText()
	case d.plan == nil:
		if left := d.log.Left(); left > 0 {
			return fmt.Sprintf("dry run: nothing was written; %s of the plan are left", report.Count(left, "keys"))
		}
		return "nothing is left of the plan"
	case len(d.plan.Changes) == 0:
		return "nothing to spread: " + report.Clean(d.plan.Why)
	default:
		return fmt.Sprintf("dry run: nothing was written; %s would get a new expiry: %s", report.Count(len(d.plan.Changes), "keys"), d.effect())
	}
}

func (d *spreadDoc) writtenText() string {
	r := d.result
	text := fmt.Sprintf("%s of %s have their new expiry", report.Int(r.Counts[scan.Written]), report.Count(r.Total, "keys"))
	if n := r.Counts[scan.Unreached]; n > 0 {
		return text + fmt.Sprintf("; %s not reached", report.Int(n))
	}
	if d.plan != nil {
		text += ": " + d.effect()
	}
	return text
}

func (d *spreadDoc) effect() string {
	return fmt.Sprintf("busiest second %s → %s", report.Int(d.plan.Before.Busiest), report.Count(d.plan.After.Busiest, "keys"))
}

// next is how to go on.
func (d *spreadDoc) next() []string {
	path := ""
	if d.log != nil {
		path = shellWord(d.log.Path)
	}
	switch {
	case d.undoing && d.result == nil && d.could.Counts[scan.Written] > 0:
		return []string{"herdscan spread --undo " + path + " --yes"}
	case d.undoing:
		return nil
	case d.result != nil && d.result.Counts[scan.Unreached] > 0:
		return []string{"go on: herdscan spread --resume " + path + " --yes", "put back: herdscan spread --undo " + path}
	case d.result != nil:
		return []string{"put back: herdscan spread --undo " + path, "herdscan ttl"}
	case d.log != nil && d.log.Left() > 0:
		return []string{"herdscan spread --resume " + path + " --yes"}
	case d.plan != nil && len(d.plan.Changes) > 0:
		return []string{"write it: the same with --yes", "herdscan spread --explain-access"}
	default:
		return nil
	}
}

// shellWord quotes a file name for a shell where it needs it.
func shellWord(path string) string {
	path = report.Clean(path)
	if strings.ContainsAny(path, " '\"$&;()<>|*?[]\\`") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
