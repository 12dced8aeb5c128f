package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/report/attribute"
)

// Incident is what "herdscan report" found in caches, query logs and files
// together, ready to be written.
type Incident struct {
	Version string
	Queries *QueryLog // nil: no query log
	Keys    []*TTL    // one for each look at the caches, the latest last
	Lint    *Lint     // nil: no files
	Events  []attribute.Event
	Zone    *time.Location // of schedules that name none
	Lang    string

	Coverage []Coverage // of all but Queries and Lint, which tell their own
	Notes    []string
}

// Document attributes each herd and writes all that was found.
func (r *Incident) Document(clock Clock) *Document {
	d := New(r.Version, "report")
	res := attribute.Attribute(r.evidence())
	parts := r.parts(clock)
	d.Coverage = append(d.Coverage, r.Coverage...)
	for _, p := range parts {
		d.Coverage = append(d.Coverage, p.Coverage...)
		d.Graphs = append(d.Graphs, p.Graphs...)
		d.Tables = append(d.Tables, p.Tables...)
		d.Undecided = append(d.Undecided, p.Undecided...)
		d.Notes = append(d.Notes, p.Notes...)
		d.Base = cmp.Or(d.Base, p.Base)
	}
	d.Graphs = d.Graphs[:min(len(d.Graphs), maxGraphs)]
	d.Notes = append(d.Notes, r.Notes...)
	t := r.timeline()
	if len(t.Lanes) > 1 {
		d.Timeline = t
	}
	herds, conflicts := r.herds(res, clock)
	d.Findings = append(d.Findings, herds...)
	if r.Lint != nil {
		d.Findings = append(d.Findings, parts[len(parts)-1].Findings...)
	}
	d.Findings = append(d.Findings, r.sourceFindings(res)...)
	d.Findings = append(d.Findings, uniqueFindings(conflicts)...)
	slices.SortStableFunc(d.Findings, bySeverity)
	d.Finish()
	r.verdict(d, res)
	return d
}

// maxGraphs is how many graphs a terminal is shown.
const maxGraphs = 2

// parts are the documents of the sources; that of the files is the last. Of
// the caches only the latest look is shown as graph and table.
func (r *Incident) parts(clock Clock) []*Document {
	var parts []*Document
	if r.Queries != nil {
		parts = append(parts, r.Queries.Document(clock))
	}
	if n := len(r.Keys); n > 0 {
		parts = append(parts, r.Keys[n-1].Document(clock))
		if n > 1 {
			note := fmt.Sprintf("%s of the caches at other times: used as evidence, the latest is judged", Count(n-1, "looks"))
			parts[len(parts)-1].Notes = append(parts[len(parts)-1].Notes, note)
		}
	}
	if r.Lint != nil {
		parts = append(parts, r.Lint.Document(clock))
	}
	return parts
}

// evidence is what the attribution is given.
func (r *Incident) evidence() attribute.Evidence {
	e := attribute.Evidence{Events: r.Events, Zone: r.Zone}
	if r.Queries != nil {
		e.Log = r.Queries.Analysis
	}
	for _, k := range r.Keys {
		e.Caches = append(e.Caches, attribute.Cache{Name: k.name(), Analysis: k.Analysis})
	}
	if r.Lint != nil {
		e.Lint = r.Lint.Result
	}
	return e
}

// name is how a look at caches is called.
func (r *TTL) name() string {
	sources := r.Analysis.Sources
	switch len(sources) {
	case 0:
		return "the cache"
	case 1:
		return Clean(sources[0].Name)
	default:
		return fmt.Sprintf("%s and %s", Clean(sources[0].Name), Count(len(sources)-1, "more"))
	}
}

// herds are the findings of the log and of the latest look at the caches, each
// with what the attribution says of it.
func (r *Incident) herds(res *attribute.Result, clock Clock) (out, conflicts []Finding) {
	verdicts := map[[2]int]*attribute.Verdict{}
	for i := range res.Verdicts {
		v := &res.Verdicts[i]
		verdicts[[2]int{v.Cache, v.Finding}] = v
	}
	if r.Queries != nil {
		for i := range r.Queries.Analysis.Findings {
			f := r.Queries.finding(&r.Queries.Analysis.Findings[i], clock)
			if v := verdicts[[2]int{-1, i}]; v != nil {
				r.attributed(&f, v, res, clock)
				conflicts = append(conflicts, r.advise(&f, v)...)
			}
			out = append(out, f)
		}
	}
	if n := len(r.Keys); n > 0 {
		k := r.Keys[n-1]
		for i := range k.Analysis.Findings {
			f := k.finding(&k.Analysis.Findings[i], clock)
			if v := verdicts[[2]int{n - 1, i}]; v != nil {
				r.attributed(&f, v, res, clock)
			}
			r.felt(&f, i, res)
			out = append(out, f)
		}
	}
	return out, conflicts
}

// uniqueFindings drops those that were said before.
func uniqueFindings(fs []Finding) []Finding {
	var out []Finding
	for _, f := range fs {
		if !slices.ContainsFunc(out, func(o Finding) bool { return o.Fingerprint == f.Fingerprint }) {
			out = append(out, f)
		}
	}
	return out
}

// felt says what the query log tells of a herd of keys: which statements its
// deaths send, and the TTL that the snapshot alone does not show.
func (r *Incident) felt(f *Finding, i int, res *attribute.Result) {
	a := r.Keys[len(r.Keys)-1].Analysis
	keys := &a.Findings[i]
	if keys.Herd == nil {
		return
	}
	for i := range res.Verdicts {
		v := &res.Verdicts[i]
		s := v.Best()
		if v.Cache >= 0 || s.Cache != len(r.Keys)-1 || s.Kind != attribute.TTL || !slices.Contains(s.Patterns, keys.Subject) {
			continue
		}
		line := "In the query log its deaths are the teeth of " + cut(r.subject(v), rowWidth)
		if s.TTL > 0 && keys.Herd.Base.TTL == 0 {
			line += fmt.Sprintf(", whose period tells a TTL of %s s", Seconds(s.TTL))
			f.Details = slices.DeleteFunc(f.Details, func(d string) bool { return strings.HasPrefix(d, "The TTL can't be told") })
			if f.Severity != rule.Note.String() {
				c := TTLCase(a, keys, r.Lang)
				c.TTL, c.TTLAtLeast = s.TTL, false
				f.Advise(c)
			}
		}
		f.Details = append(f.Details, line+".")
	}
}

// attributed puts a verdict into the finding it is about.
func (r *Incident) attributed(f *Finding, v *attribute.Verdict, res *attribute.Result, clock Clock) {
	f.Causes, f.Cleared, f.Missing = nil, nil, nil
	for i := range v.Suspects {
		f.Causes = append(f.Causes, r.cause(&v.Suspects[i]))
	}
	for i := range v.Cleared {
		f.Cleared = append(f.Cleared, r.cause(&v.Cleared[i]))
	}
	for _, m := range v.Missing {
		f.Missing = append(f.Missing, Clean(m.Text))
	}
	f.Details = append(f.Details, verdictLines(v, res, r)...)
	if v.Cache < 0 {
		q := &r.Queries.Analysis.Findings[v.Finding]
		f.Chain = r.chain(q, v)
		f.Timeline, f.Fold = r.picture(q, v)
	}
}

func (r *Incident) cause(s *attribute.Suspect) Cause {
	c := Cause{
		Kind: string(s.Kind), Score: s.Score, Why: trimStop(s.Why), RefutedBy: trimStop(s.RefutedBy),
		Suspect: Clean(s.Name), For: cleanAll(s.For), Against: cleanAll(s.Against),
	}
	var files map[string]*cronlint.File
	if r.Lint != nil {
		files = sourceFiles(r.Lint.Result)
	}
	for _, l := range s.Locations {
		c.Locations = append(c.Locations, lintLocation(l, files))
	}
	return c
}

func cleanAll(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, trimStop(t))
	}
	return out
}

// verdictLines say how far to trust a verdict, and what is inside the herd.
func verdictLines(v *attribute.Verdict, res *attribute.Result, r *Incident) []string {
	var lines []string
	if v.Same >= 0 && v.Same < len(res.Verdicts) {
		if of := r.subject(&res.Verdicts[v.Same]); of != "" {
			lines = append(lines, "Part of the same herd as "+cut(of, rowWidth)+".")
		}
	}
	for _, l := range v.Layers {
		lines = append(lines, sentence(l.Why))
	}
	trust := "Confidence in the cause: " + v.Confidence.String()
	if len(v.Doubts) > 0 {
		trust += " (" + strings.Join(cleanAll(v.Doubts), "; ") + ")"
	}
	lines = append(lines, trust+".")
	if v.Tied {
		lines = append(lines, "The first two suspects fit equally well: the evidence can't tell them apart.")
	}
	return lines
}

// subject names the herd that a verdict is about.
func (r *Incident) subject(v *attribute.Verdict) string {
	if v.Cache >= 0 {
		return Clean(r.Keys[v.Cache].Analysis.Findings[v.Finding].Subject)
	}
	return Clean(r.Queries.Analysis.Findings[v.Finding].Subject)
}

// sourceFindings are the statements about the sources.
func (r *Incident) sourceFindings(res *attribute.Result) []Finding {
	var out []Finding
	seen := map[string]bool{}
	for i := range res.Findings {
		f := &res.Findings[i]
		if key := f.Rule + "/" + aboutWhat(f); saidByHerds(f.Rule) {
			if seen[key] {
				continue // it holds for more than one herd, and each says so itself
			}
			seen[key] = true
		}
		n := Finding{
			Rule: f.Rule, Severity: f.Severity.String(), Subject: Clean(f.Subject), Count: 1,
			Message: Clean(f.Message), Fingerprint: f.Rule + "/" + Clean(f.Subject),
		}
		var files map[string]*cronlint.File
		if r.Lint != nil {
			files = sourceFiles(r.Lint.Result)
		}
		for _, l := range f.Locations {
			n.Locations = append(n.Locations, lintLocation(l, files))
		}
		out = append(out, n)
	}
	return out
}

// aboutWhat is what a statement about sources is about: a suspect that is
// cleared, or a source that is missing.
func aboutWhat(f *attribute.Finding) string {
	if f.Rule == "HS602" {
		return f.Message
	}
	return f.Subject
}

// verdict is the last word: the cause of the worst herd, or why there is none.
func (r *Incident) verdict(d *Document, res *attribute.Result) {
	if d.Incomplete() && res.Outcome != attribute.Herd {
		return // what Finish said of unread input stands
	}
	counts := d.Verdict
	switch {
	case res.Outcome == attribute.Herd:
		if v := worst(res, r); v != nil {
			d.Verdict = fmt.Sprintf("%s; %s: %s", counts, cut(r.subject(v), rowWidth), inShort(v.Best()))
		}
	case res.Outcome == attribute.NothingGiven:
	case d.Summary.Error+d.Summary.Warning+d.Summary.Note > 0:
		d.Verdict = fmt.Sprintf("%s; %s", trimStop(res.Why), counts)
	default:
		d.Verdict = trimStop(res.Why)
	}
	if w := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.Suppressed == "" }); w >= 0 {
		d.Next = []string{"herdscan explain " + d.Findings[w].Rule, "herdscan report -o report.html"}
	}
}

// inShort says in some words what a herd is consistent with.
func inShort(s *attribute.Suspect) string {
	name := cut(Clean(s.Name), messageWidth/2)
	of := func(some, nameless string) string {
		if name == "" {
			return nameless
		}
		return fmt.Sprintf(some, name)
	}
	what := ""
	switch s.Kind {
	case attribute.TTL:
		what = of("keys of %s that die together", "cached values that die together")
	case attribute.HotKey:
		what = of("a hot key of %s that every reader rebuilds", "one hot key that every reader rebuilds")
	case attribute.WarmUp:
		what = of("%s, which writes keys with one TTL", "a job that writes keys with one TTL")
	case attribute.ColdStart:
		what = of("a cold cache after the %s", "a cold cache")
	case attribute.Cron:
		what = of("the schedule of %s", "a schedule")
	case attribute.Retry:
		what = of("retries in step by %s", "retries in step")
	case attribute.ReplicaJob:
		what = of("%s on every replica", "one job on every replica")
	case attribute.MissingKey:
		what = "rows that do not exist and whose absence is not cached"
	default:
		return "nothing that was given explains it"
	}
	if s.TTL > 0 {
		what += fmt.Sprintf(" (TTL %s s)", Seconds(s.TTL))
	}
	return "consistent with " + what
}

// worst is the verdict of the most severe herd, the first of equals.
func worst(res *attribute.Result, r *Incident) *attribute.Verdict {
	var best *attribute.Verdict
	level := rule.Note
	for i := range res.Verdicts {
		v := &res.Verdicts[i]
		s := rule.Note
		if v.Cache >= 0 {
			s = r.Keys[v.Cache].Analysis.Findings[v.Finding].Severity
		} else {
			s = r.Queries.Analysis.Findings[v.Finding].Severity
		}
		if best == nil || s > level {
			best, level = v, s
		}
	}
	return best
}
