package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/ttlhist"
)

// taken is what summaries gave to a simulation.
type taken struct {
	coverage []report.Coverage
	notes    []string
	fill     string // event that is proposed; "" for none

	m     *comb.Mechanism
	fixed func(flag string) bool // the user has set it, so it stays
	have  []string               // flags whose numbers are taken
}

// takeNumbers fills a mechanism from saved summaries. Numbers of an earlier file
// win over those of a later one, flags over both.
func takeNumbers(files []string, m *comb.Mechanism, set func(flag string) bool) (*taken, error) {
	t := &taken{m: m, fixed: set}
	for _, path := range files {
		if err := t.file(path); err != nil {
			return nil, fmt.Errorf("--from %s: %w", report.Clean(path), err)
		}
	}
	if len(files) > 0 {
		t.assumed()
	}
	return t, nil
}

func (t *taken) file(path string) error {
	keys, err := loadSummary(path)
	if err == nil {
		return t.keys(path, keys)
	}
	if !errors.Is(err, ttlhist.ErrKind) {
		return withoutPath(err)
	}
	log, err := loadQuerySummary(path)
	if err == nil {
		return t.log(path, log)
	}
	if errors.Is(err, querylog.ErrNotSummary) {
		return errors.New("no summary that herdscan ttl --save or herdscan querylog --save has written")
	}
	return err
}

// take lets a number stand, unless a flag or an earlier file has set it.
func (t *taken) take(flag string, set func()) bool {
	if t.fixed(flag) || slices.Contains(t.have, flag) {
		return false
	}
	set()
	t.have = append(t.have, flag)
	return true
}

// keys takes what a snapshot of a cache knows: the largest herd in it, or
// without one its largest group.
func (t *taken) keys(path string, sum *ttlhist.Summary) error {
	a := ttlhist.Analyse(sum, ttlhist.Options{})
	t.coverage = append(t.coverage, saved(ttlSource{path: path}, sum).coverage...)
	scale := 1.0
	if a.Sampled > 0 && a.Sampled < 1 {
		scale = 1 / a.Sampled
	}
	herd, subject := largestHerd(a)
	if herd == nil {
		return t.largest(a, scale)
	}
	keys, width := float64(herd.Largest.Keys)*scale, herd.Largest.To.Sub(herd.Largest.From)
	text := []string{}
	if t.take("keys", func() { t.m.Keys = int(math.Round(keys)) }) {
		text = append(text, report.Count(t.m.Keys, "keys"))
		t.fill = fmt.Sprintf("fill@1m/%s", width.Round(time.Millisecond))
		text = append(text, "written within "+report.Dur(width))
	}
	t.ttl(herd.Base, &text)
	t.say("the largest tooth of "+report.Clean(subject), text)
	return nil
}

// largestHerd is that with the busiest second, of those that do harm if there
// are any; nil if there is none.
func largestHerd(a *ttlhist.Analysis) (herd *ttlhist.Herd, subject string) {
	worst := rule.Note
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Herd == nil || f.Severity < worst {
			continue
		}
		if herd == nil || f.Severity > worst || f.Herd.Largest.Busiest > herd.Largest.Busiest {
			herd, subject, worst = f.Herd, f.Subject, f.Severity
		}
	}
	return herd, subject
}

// largest takes the group with the most keys that expire, of those that a cache
// can rebuild if there are any.
func (t *taken) largest(a *ttlhist.Analysis, scale float64) error {
	if a.WithTTL == 0 {
		return errors.New("it holds no key with a TTL")
	}
	g := slices.MaxFunc(a.Groups, func(x, y ttlhist.Group) int {
		return cmp.Or(cmpBool(rebuildable(x), rebuildable(y)), cmp.Compare(x.WithTTL, y.WithTTL))
	})
	text := []string{}
	if t.take("keys", func() { t.m.Keys = int(math.Round(float64(g.WithTTL) * scale)) }) {
		text = append(text, report.Count(t.m.Keys, "keys"))
	}
	t.ttl(g.Base, &text)
	t.say(report.Clean(g.Pattern)+", which holds no herd now", text)
	return nil
}

func rebuildable(g ttlhist.Group) bool {
	return g.WithTTL > 0 && (g.Kind == ttlhist.Cache || g.Kind == ttlhist.Data)
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (t *taken) ttl(base ttlhist.BaseTTL, text *[]string) {
	ttl, how := base.TTL, base.From.String()
	switch {
	case ttl > 0:
	case base.Next > 0:
		ttl, how = base.Next, "the next usual one above the longest remaining time"
	default:
		ttl, how = base.AtLeast.Round(time.Second), "the longest remaining time"
	}
	if ttl > 0 && t.take("ttl", func() { t.m.TTL = ttl }) {
		*text = append(*text, fmt.Sprintf("TTL %s s (%s)", report.Seconds(ttl), how))
	}
}

// log takes what a query log knows: the first herd that a cache explains.
func (t *taken) log(path string, sum *querylog.Summary) error {
	a := querylog.Analyse(sum, querylog.AnalyseOptions{})
	from, to := a.From, a.To
	t.coverage = append(t.coverage, report.Coverage{
		Source: report.Clean(sourceName(path)), Kind: "querylog", Unit: "queries", Read: a.Statements, Total: a.Statements,
		From: &from, To: &to, Complete: true, Errors: []string{}, Text: "summary of " + report.Count(a.Statements, "queries"),
	})
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Comb == nil || len(f.Causes) == 0 || len(f.Members) == 0 {
			continue
		}
		if kind := f.Causes[0].Kind; kind == querylog.CauseTTL || kind == querylog.CauseHotKey {
			t.herd(f, kind)
			return nil
		}
	}
	return errors.New("it holds no comb of queries that a cache explains")
}

func (t *taken) herd(f *querylog.Finding, kind querylog.CauseKind) {
	text := []string{}
	main := f.Members[0]
	if main.Timed > 0 && main.Median > 0 && t.take("rebuild", func() { t.m.Rebuild = main.Median }) {
		text = append(text, "rebuild "+report.Dur(main.Median)+" (median of its queries)")
	}
	if f.HostsATooth > 0 && t.take("processes", func() { t.m.Processes = f.HostsATooth }) {
		text = append(text, report.Count(f.HostsATooth, "processes")+" (clients a tooth)")
	}
	if ttl, off := comb.NearestHuman(f.Comb.Period); math.Abs(off.Seconds()) <= max(0.03*ttl.Seconds(), 3) && ttl > 0 {
		if t.take("ttl", func() { t.m.TTL = ttl }) {
			text = append(text, fmt.Sprintf("TTL %s s (its teeth come each %s)", report.Seconds(ttl), report.Dur(f.Comb.Period)))
		}
	}
	t.heat(f, kind, &text)
	t.say("the herd of "+report.Clean(strings.ToUpper(main.Verb)+" on "+strings.Join(main.Tables, ", ")), text)
}

// heat takes keys and reads from the height of the teeth: many keys that are
// asked for once, or one key whose copies come while it is rebuilt.
func (t *taken) heat(f *querylog.Finding, kind querylog.CauseKind, text *[]string) {
	if kind == querylog.CauseTTL {
		if keys := int(math.Round(f.Comb.Height)); keys > 0 && t.take("keys", func() { t.m.Keys = keys }) {
			*text = append(*text, report.Count(keys, "keys")+" (queries a tooth)")
		}
		return
	}
	if !t.take("keys", func() { t.m.Keys = 1 }) {
		return
	}
	*text = append(*text, "1 hot key")
	copies, rebuild := f.Comb.Height*max(f.Identical, 1e-3), t.m.Rebuild.Seconds()
	if reads := (copies - 1) / rebuild; copies > 1 && rebuild > 0 && t.take("reads", func() { t.m.Reads = math.Round(reads*10) / 10 }) {
		*text = append(*text, fmt.Sprintf("%s reads/s (%s copies a tooth, asked for while it is rebuilt)", report.Float(reads), report.Float(copies)))
	}
}

func (t *taken) say(subject string, what []string) {
	if len(what) == 0 {
		what = []string{"nothing, flags and earlier files have said all"}
	}
	t.notes = append(t.notes, fmt.Sprintf("taken from %s: %s", subject, strings.Join(what, ", ")))
}

// assumed says which numbers nobody gave.
func (t *taken) assumed() {
	var names []string
	for _, x := range []struct{ flag, text string }{
		{"keys", report.Count(t.m.Keys, "keys")},
		{"reads", report.Float(t.m.Reads) + " reads/s"},
		{"zipf", "Zipf exponent " + report.Float(t.m.Zipf)},
		{"ttl", "TTL " + report.Dur(t.m.TTL)},
		{"rebuild", "rebuild " + report.Dur(t.m.Rebuild)},
		{"processes", report.Count(t.m.Processes, "processes")},
	} {
		if !t.fixed(x.flag) && !slices.Contains(t.have, x.flag) {
			names = append(names, fmt.Sprintf("%s (--%s)", x.text, x.flag))
		}
	}
	if len(names) > 0 {
		t.notes = append(t.notes, "assumed: "+strings.Join(names, ", "))
	}
}
