package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/report/attribute"
	"github.com/herdscan/herdscan/ttlhist"
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

	causes *attribute.Result
}

// Attribute weighs the causes of all herds. Call it once, when everything has
// been read, before Document.
func (r *Incident) Attribute() { r.causes = attribute.Attribute(r.evidence()) }

// Document writes all that was found.
func (r *Incident) Document(clock Clock) *Document {
	d := New(r.Version, "report")
	d.Coverage = append(d.Coverage, r.Coverage...)
	if r.Queries != nil {
		d.include(r.Queries.frame(clock))
	}
	if n := len(r.Keys); n > 0 {
		d.include(r.Keys[n-1].frame())
		if n > 1 {
			d.Notes = append(d.Notes, fmt.Sprintf("%s of the caches at other times: used as evidence, the latest is judged", Count(n-1, "looks")))
		}
	}
	var files map[string]*cronlint.File
	if r.Lint != nil {
		files = sourceFiles(r.Lint.Result)
	}
	herds, conflicts := r.herds(files, clock)
	d.Findings = append(d.Findings, herds...)
	if r.Lint != nil {
		lint := r.Lint.Document(clock)
		d.include(lint)
		d.Findings, d.Base = append(d.Findings, lint.Findings...), lint.Base
	}
	d.Findings = append(d.Findings, sourceFindings(r.causes, files)...)
	d.Findings = append(d.Findings, uniqueFindings(conflicts)...)
	slices.SortStableFunc(d.Findings, bySeverity)
	d.Graphs = d.Graphs[:min(len(d.Graphs), maxGraphs)]
	d.Notes = append(d.Notes, r.Notes...)
	if t := r.timeline(); len(t.Lanes) > 1 {
		d.Timeline = t
	}
	d.Finish()
	r.verdict(d)
	return d
}

// maxGraphs is how many graphs a terminal is shown.
const maxGraphs = 2

// include takes over what the document of one source says besides findings.
func (d *Document) include(o *Document) {
	d.Coverage = append(d.Coverage, o.Coverage...)
	d.Graphs = append(d.Graphs, o.Graphs...)
	d.Tables = append(d.Tables, o.Tables...)
	d.Undecided = append(d.Undecided, o.Undecided...)
	d.Notes = append(d.Notes, o.Notes...)
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
// with what the attribution says of it, and the conflicts of their remedies with
// the configuration.
func (r *Incident) herds(files map[string]*cronlint.File, clock Clock) (out, conflicts []Finding) {
	verdicts := map[[2]int]*attribute.Verdict{}
	for i := range r.causes.Verdicts {
		v := &r.causes.Verdicts[i]
		verdicts[[2]int{v.Cache, v.Finding}] = v
	}
	if q := r.Queries; q != nil {
		for i := range q.Analysis.Findings {
			f := q.finding(&q.Analysis.Findings[i], clock)
			v := verdicts[[2]int{-1, i}]
			if v != nil {
				r.attributed(&f, v, files)
				f.Chain = r.chain(&q.Analysis.Findings[i], v)
				f.Timeline, f.Fold = r.picture(&q.Analysis.Findings[i], v)
			}
			conflicts = append(conflicts, r.advise(&f, i, v)...)
			out = append(out, f)
		}
	}
	if n := len(r.Keys); n > 0 {
		k := r.Keys[n-1]
		for i := range k.Analysis.Findings {
			keys := k.Analysis.Findings[i]
			v := verdicts[[2]int{n - 1, i}]
			if v != nil {
				r.felt(&keys, v)
			}
			f := k.finding(&keys, clock)
			if v != nil {
				r.attributed(&f, v, files)
			}
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

// felt gives a herd of keys the TTL that the snapshot alone does not show, where
// the query log tells it. keys is the caller's own.
func (r *Incident) felt(keys *ttlhist.Finding, v *attribute.Verdict) {
	inLog := v.Same >= 0 && r.causes.Verdicts[v.Same].Cache < 0
	if ttl := v.Best().TTL; inLog && ttl > 0 && keys.Herd != nil && keys.Herd.Base.TTL == 0 {
		keys.Herd = keys.Herd.WithTTL(ttl, ttlhist.PeriodOfQueries)
	}
}

// attributed puts a verdict into the finding it is about.
func (r *Incident) attributed(f *Finding, v *attribute.Verdict, files map[string]*cronlint.File) {
	f.Causes, f.Cleared, f.Missing = nil, nil, nil
	for i := range v.Suspects {
		f.Causes = append(f.Causes, causeOf(&v.Suspects[i], files))
	}
	for i := range v.Cleared {
		f.Cleared = append(f.Cleared, causeOf(&v.Cleared[i], files))
	}
	for _, m := range v.Missing {
		f.Missing = append(f.Missing, Clean(m.Text))
	}
	f.Details = append(f.Details, r.verdictLines(v)...)
}

func causeOf(s *attribute.Suspect, files map[string]*cronlint.File) Cause {
	return Cause{
		Kind: string(s.Kind), Score: s.Score, Why: trimStop(s.Why), RefutedBy: trimStop(s.RefutedBy),
		Suspect: Clean(s.Name), For: cleanAll(s.For), Against: cleanAll(s.Against), Locations: lintLocations(s.Locations, files),
	}
}

func lintLocations(ls []cronlint.Location, files map[string]*cronlint.File) []Location {
	var out []Location
	for _, l := range ls {
		out = append(out, lintLocation(l, files))
	}
	return out
}

func cleanAll(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, trimStop(t))
	}
	return out
}

// verdictLines say how far to trust a verdict, and what is inside the herd.
func (r *Incident) verdictLines(v *attribute.Verdict) []string {
	var lines []string
	if v.Same >= 0 {
		lines = append(lines, "Part of the same herd as "+cut(r.subject(&r.causes.Verdicts[v.Same]), rowWidth)+".")
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
func sourceFindings(res *attribute.Result, files map[string]*cronlint.File) []Finding {
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
		out = append(out, Finding{
			Rule: f.Rule, Severity: f.Severity.String(), Subject: Clean(f.Subject), Count: 1,
			Message: Clean(f.Message), Fingerprint: f.Rule + "/" + Clean(f.Subject), Locations: lintLocations(f.Locations, files),
		})
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
func (r *Incident) verdict(d *Document) {
	res := r.causes
	if d.Incomplete() && res.Outcome != attribute.Herd {
		return // what Finish said of unread input stands
	}
	counts := d.Verdict
	switch {
	case res.Outcome == attribute.Herd:
		if v := r.worst(); v != nil {
			d.Verdict = fmt.Sprintf("%s; %s: %s", counts, cut(r.subject(v), rowWidth), fits(v.Best()))
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

// fits says what a herd is consistent with.
func fits(s *attribute.Suspect) string {
	c := causeOf(s, nil)
	if s.Kind == attribute.Unknown {
		return c.Why
	}
	return "consistent with " + c.plainWhy()
}

// worst is the verdict of the most severe herd, the first of equals.
func (r *Incident) worst() *attribute.Verdict {
	var best *attribute.Verdict
	level := rule.Note
	for i := range r.causes.Verdicts {
		v := &r.causes.Verdicts[i]
		if s := r.severity(v); best == nil || s > level {
			best, level = v, s
		}
	}
	return best
}

// severity is that of the herd that a verdict is about.
func (r *Incident) severity(v *attribute.Verdict) rule.Severity {
	if v.Cache >= 0 {
		return r.Keys[v.Cache].Analysis.Findings[v.Finding].Severity
	}
	return r.Queries.Analysis.Findings[v.Finding].Severity
}
