package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/ttlhist"
)

// queryPile collects query logs. A slow log and a general log of one time tell
// of the same statements, so they are kept apart until one is chosen.
type queryPile struct {
	slow, general *querylog.Summary // nil: none was read
	seen          map[querySource]bool
	notes         []string
}

// querySource identifies what was read: the same log by another way, or named
// twice, would count each statement twice.
type querySource struct {
	name     string
	read     uint64
	from, to time.Time
}

// add puts a summary to its kind, unless all of it is there already.
func (p *queryPile) add(name string, s *querylog.Summary) {
	all, again := s.Coverage(), 0
	for i := range all {
		if id := identity(&all[i]); p.seen[id] {
			again++
		} else {
			p.seen[id] = true
		}
	}
	switch {
	case again > 0 && again == len(all):
		p.notes = append(p.notes, sourceName(name)+" tells of what was read before: not counted twice")
		return
	case again > 0:
		p.notes = append(p.notes, fmt.Sprintf("%s holds %s that was read before and can't be taken out of it: its statements count twice", sourceName(name), report.Count(again, "sources")))
	}
	kind := &p.slow
	if len(all) > 0 && !slices.ContainsFunc(all, func(c querylog.Coverage) bool { return !c.Format.General() }) {
		kind = &p.general
	}
	*kind = together(*kind, s)
}

// together merges two summaries, of which either may be nil.
func together(a, b *querylog.Summary) *querylog.Summary {
	switch {
	case a == nil:
		return b
	case b != nil:
		a.Merge(b)
	}
	return a
}

func identity(c *querylog.Coverage) querySource {
	return querySource{c.Source, c.Read, c.From.UTC(), c.To.UTC()}
}

// choose puts both kinds together, or leaves one of them out where they tell
// of the same time: the slow log knows durations, so it is taken unless it
// leaves out statements. nil: none was read.
func (p *queryPile) choose() *querylog.Summary {
	if p.slow == nil || p.general == nil || !overlap(p.slow, p.general) {
		return together(p.slow, p.general)
	}
	chosen, other, better := p.slow, p.general, "the slow log"
	if float64(p.slow.Statements()) < 0.9*float64(p.general.Statements()) {
		chosen, other, better = p.general, p.slow, "the general log"
	}
	p.notes = append(p.notes, leftOut(other, better))
	for _, c := range other.Coverage() {
		if c.Stopped != "" { // what could not be read is told, whatever becomes of the rest
			chosen.Cover(c)
		}
	}
	return chosen
}

// overlap tells whether two logs have statements of one time.
func overlap(a, b *querylog.Summary) bool {
	from, to := a.Span()
	bfrom, bto := b.Span()
	return a.Statements() > 0 && b.Statements() > 0 && !to.Before(bfrom) && !bto.Before(from)
}

func leftOut(s *querylog.Summary, better string) string {
	name := "a log"
	if c := s.Coverage(); len(c) > 0 {
		name = sourceName(c[0].Source)
		if len(c) > 1 {
			name += fmt.Sprintf(" and %s", report.Count(len(c)-1, "more"))
		}
	}
	return fmt.Sprintf("%s covers the same time as %s and is left out, so that no statement counts twice; if it is of another server, report on it alone", name, better)
}

// readQueries reads summaries, logs and log tables.
func (r *reportRun) readQueries(ctx context.Context, in *reportInputs, out *report.Incident) error {
	pile := &queryPile{seen: map[querySource]bool{}}
	for _, path := range in.querySummaries {
		s, err := in.loadQueries(path)
		if err != nil {
			out.Coverage = append(out.Coverage, failed(path, "records", err))
			continue
		}
		pile.add(path, s)
	}
	if len(in.logs) > 0 {
		if err := r.readLogs(ctx, in, pile); err != nil {
			return err
		}
	}
	if r.asksMySQL(in) {
		s, err := r.query.server(ctx)
		if err != nil {
			out.Coverage = append(out.Coverage, failed("the MySQL server", "records", err))
		} else {
			pile.add("the MySQL server", s)
		}
	}
	sum := pile.choose()
	out.Notes = append(out.Notes, pile.notes...)
	if sum != nil {
		out.Queries = &report.QueryLog{
			Version: version, Summary: sum, Analysis: r.analyseQueries(sum), Zone: r.zone, Top: r.o.top, Lang: r.o.lang,
		}
	}
	return nil
}

// readLogs reads logs of one kind after the other, each in the order of times.
func (r *reportRun) readLogs(ctx context.Context, in *reportInputs, pile *queryPile) error {
	var missing querylog.Summary
	r.query.env.Stdin = in.stdin
	sources := r.query.logSources(ctx, in.logs, &missing)
	kinds := map[bool][]querylog.Source{}
	for _, s := range sources {
		general := querylog.IsGeneral(in.again(s))
		kinds[general] = append(kinds[general], s)
	}
	for _, general := range []bool{false, true} {
		if len(kinds[general]) == 0 {
			continue
		}
		s, err := querylog.Summarise(ctx, kinds[general], r.query.progress())
		if s == nil {
			return err
		}
		pile.add(kinds[general][0].Name, s) // what could not be read is in its coverage
	}
	if len(missing.Coverage()) > 0 {
		pile.slow = together(pile.slow, &missing)
	}
	return nil
}

// again is a source that may be opened twice: of standard input its beginning.
func (in *reportInputs) again(s querylog.Source) querylog.Source {
	if s.Name != sourceName("-") {
		return s
	}
	head, _ := in.stdin.Peek(stdinHead)
	return querylog.ReaderSource(s.Name, bytes.NewReader(head))
}

// loadQueries reads a saved summary of query logs.
func (in *reportInputs) loadQueries(path string) (*querylog.Summary, error) {
	if path == "-" {
		return querylog.Load(in.stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return querylog.Load(f)
}

func failed(name, unit string, err error) report.Coverage {
	return report.Coverage{
		Source: sourceName(name), Kind: "unknown", Unit: unit, Errors: []string{plainError(err)}, Text: "nothing read",
	}
}

// A keySnapshot is one look at a cache that was saved.
type keySnapshot struct {
	path    string
	sources []ttlhist.Source
}

func (k *keySnapshot) at() time.Time {
	if len(k.sources) == 0 {
		return time.Time{}
	}
	return k.sources[0].Now
}

// readKeys reads servers, dumps and lists, and saved summaries, and analyses
// each set of snapshots that belong together.
func (r *reportRun) readKeys(ctx context.Context, in *reportInputs, out *report.Incident) {
	run := &ttlRun{env: r.env, opts: &r.o.server, now: r.now, server: in.server}
	run.env.Stdin = in.stdin
	sets := &keySets{}
	for _, snap := range r.snapshots(in, out) {
		sum, err := in.loadKeys(snap.path)
		if err != nil {
			out.Coverage = append(out.Coverage, failed(snap.path, "keys", err))
			continue
		}
		put(sets, saved(ttlSource{path: snap.path}, sum), out)
	}
	for _, reading := range run.readEach(ctx, in.keys) {
		put(sets, reading, out)
	}
	for _, set := range sets.inOrder() {
		out.Keys = append(out.Keys, &report.TTL{Version: version, Analysis: r.analyseKeys(set), Top: r.o.top, Lang: r.o.lang})
	}
}

// put adds what one source gave.
func put(sets *keySets, reading *ttlReading, out *report.Incident) {
	out.Coverage = append(out.Coverage, reading.coverage...)
	out.Notes = append(out.Notes, reading.notes...)
	if reading.sum == nil {
		return
	}
	name := reading.coverage[0].Source
	switch twice, err := sets.add(reading.sum); {
	case err != nil:
		out.Coverage = append(out.Coverage, failed(name, "keys", err))
	case twice:
		out.Notes = append(out.Notes, name+" shows the same keys at the same time as a source before it: they are not counted twice")
	}
}

// snapshots reads when the summaries were taken, and puts them in that order:
// holding all of them at once could take more memory than there is.
func (r *reportRun) snapshots(in *reportInputs, out *report.Incident) []keySnapshot {
	var list []keySnapshot
	for _, path := range in.keySummaries {
		if path == "-" {
			list = append(list, keySnapshot{path: path})
			continue
		}
		sum, err := in.loadKeys(path)
		if err != nil {
			out.Coverage = append(out.Coverage, failed(path, "keys", err))
			continue
		}
		list = append(list, keySnapshot{path: path, sources: sum.Sources()})
	}
	slices.SortStableFunc(list, func(a, b keySnapshot) int { return cmp.Or(a.at().Compare(b.at()), cmp.Compare(a.path, b.path)) })
	return list
}

func (in *reportInputs) loadKeys(path string) (*ttlhist.Summary, error) {
	if path == "-" {
		return ttlhist.Load(in.stdin)
	}
	return loadSummary(path)
}

// keySets are snapshots by the time at which they were taken. Shards and places
// that were looked at together are one keyspace; the same cache at another time
// is another look at it.
type keySets struct{ sets []*ttlhist.Summary }

// add puts a snapshot to those of its time. A second way to the same keys at
// the same time is left out, which the answer says. The error says why it
// can't be merged with them.
func (k *keySets) add(sum *ttlhist.Summary) (twice bool, err error) {
	for _, set := range slices.Backward(k.sets) {
		apart := timeApart(set.Sources(), sum.Sources())
		if apart > oneLook {
			continue
		}
		like := ttlhist.Compare(set, sum)
		switch {
		case like.Keys <= sameKeys:
			return false, set.Merge(sum) // shards
		case like.Deadlines >= sameDeadlines && apart <= sameLook:
			return true, nil
		case like.Deadlines < someDeadlines && !sameServer(set.Sources(), sum.Sources()):
			return false, set.Merge(sum) // the cache of another place
		}
	}
	k.sets = append(k.sets, sum)
	return false, nil
}

// How far apart looks at one keyspace are at most, and looks at one cache by
// two ways; and what two looks at one cache have in common.
const (
	oneLook       = time.Hour
	sameLook      = time.Minute
	sameKeys      = 0.5
	sameDeadlines = 0.8
	someDeadlines = 0.1
)

// sameServer tells whether a server is in both groups of looks.
func sameServer(a, b []ttlhist.Source) bool {
	return slices.ContainsFunc(a, func(x ttlhist.Source) bool {
		return x.Role != "" && slices.ContainsFunc(b, func(y ttlhist.Source) bool { return x.Name == y.Name && x.Kind == y.Kind })
	})
}

// timeApart is the largest distance between the times of two groups of looks.
func timeApart(a, b []ttlhist.Source) (apart time.Duration) {
	for _, x := range a {
		for _, y := range b {
			apart = max(apart, x.Now.Sub(y.Now).Abs())
		}
	}
	return apart
}

// inOrder returns the sets, the latest last.
func (k *keySets) inOrder() []*ttlhist.Summary {
	slices.SortStableFunc(k.sets, func(a, b *ttlhist.Summary) int { return lastLook(a).Compare(lastLook(b)) })
	return k.sets
}

func lastLook(s *ttlhist.Summary) (last time.Time) {
	for _, src := range s.Sources() {
		if src.Now.After(last) {
			last = src.Now
		}
	}
	return last
}

// lintAll lints paths; what was read before an interrupt is a result too.
func lintAll(ctx context.Context, paths []string, o lint.Options) (*cronlint.Result, error) {
	res, err := cronlint.Lint(ctx, paths, o)
	if res != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	return res, err
}
