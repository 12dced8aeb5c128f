package querylog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// Window is what ran in one span of time, for a look into a single tooth.
type Window struct {
	From, To   time.Time
	Statements uint64
	Texts      []WindowText // the most frequent first, at most MaxTexts
	Others     uint64       // statements of texts beyond that
	Hosts      []Host       // the busiest first
	Coverage   []Coverage
}

// MaxTexts is how many texts a Window lists.
const MaxTexts = 1000

// WindowText is one identical statement in a Window.
type WindowText struct {
	Query    []byte // untrusted
	Shape    string
	Count    uint64
	First    time.Time
	Last     time.Time
	AtOnce   uint64        // most copies in flight at once
	Duration time.Duration // sum
	Longest  time.Duration
	Hosts    []Host // the busiest first, at most MaxHosts
	Follower bool
}

// maxWindowTexts bounds the texts followed in a window.
const maxWindowTexts = 100_000

// windowText is a WindowText in the making.
type windowText struct {
	WindowText
	hosts  map[string]uint64
	starts []interval
}

// ReadWindow reads sources once more and tells what started from from on and
// before to. A source that can't be read is stated in the coverage and the error.
func ReadWindow(ctx context.Context, sources []Source, o Options, from, to time.Time) (*Window, error) {
	o.From, o.To = from, to
	w := &Window{From: from, To: to}
	texts := map[uint64]*windowText{}
	hosts := map[string]uint64{}
	lex := sqltext.Lexer{FoldDigits: o.FoldDigits}
	each := func(e *Event) {
		if !e.Kind.Ran() || e.throttle || e.Has&HasTime == 0 {
			return
		}
		w.Statements++
		if e.Host != "" {
			hosts[e.Host]++
		}
		t := texts[e.Text]
		if t == nil {
			if len(texts) >= maxWindowTexts {
				w.Others++
				return
			}
			shape := string(lex.AppendShape(nil, e.Query))
			t = &windowText{hosts: map[string]uint64{}}
			t.WindowText = WindowText{Query: slices.Clone(e.Query[:min(len(e.Query), maxSample)]), Shape: shape, First: e.Time, Follower: isFollower(shape)}
			texts[e.Text] = t
		}
		t.add(e)
	}
	s := &Summary{}
	var errs []error
	var threads map[uint64]*client
	for _, src := range sources {
		if err := s.read(ctx, src, o, &threads, each); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	w.Coverage = s.coverage
	w.finish(texts, hosts)
	return w, errors.Join(errs...)
}

func (t *windowText) add(e *Event) {
	t.Count++
	if e.Time.Before(t.First) {
		t.First = e.Time
	}
	if e.Time.After(t.Last) {
		t.Last = e.Time
	}
	t.Duration += e.Duration
	t.Longest = max(t.Longest, e.Duration)
	if e.Host != "" {
		t.hosts[e.Host]++
	}
	if len(t.starts) < maxRunKeep {
		at := e.Time.UnixNano()
		t.starts = append(t.starts, interval{at, at + int64(e.Duration)})
	}
}

// finish sorts what was found.
func (w *Window) finish(texts map[uint64]*windowText, hosts map[string]uint64) {
	w.Hosts = sortedHosts(hosts)
	for _, t := range texts {
		t.AtOnce = atOnce(t.starts)
		t.Hosts = sortedHosts(t.hosts)
		t.Hosts = t.Hosts[:min(len(t.Hosts), MaxHosts)]
		w.Texts = append(w.Texts, t.WindowText)
	}
	slices.SortFunc(w.Texts, func(a, b WindowText) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), a.First.Compare(b.First), slices.Compare(a.Query, b.Query))
	})
	for i := MaxTexts; i < len(w.Texts); i++ {
		w.Others += w.Texts[i].Count
	}
	w.Texts = w.Texts[:min(len(w.Texts), MaxTexts)]
}

// atOnce returns the most intervals that overlap.
func atOnce(list []interval) (most uint64) {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	ends := make([]int64, len(list))
	for i, v := range list {
		ends[i] = v.to
	}
	slices.Sort(ends)
	over := 0
	for i, v := range list {
		for over < len(ends) && ends[over] < v.from {
			over++
		}
		most = max(most, uint64(i+1-over))
	}
	return most
}

func sortedHosts(m map[string]uint64) []Host {
	list := make([]Host, 0, len(m))
	for name, n := range m {
		list = append(list, Host{name, n})
	}
	slices.SortFunc(list, func(a, b Host) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return list
}
