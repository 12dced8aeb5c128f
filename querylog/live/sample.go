package live

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/sqltext"
)

// SampleOptions steer Sample.
type SampleOptions struct {
	For time.Duration // how long; 0 means until the context ends
	// Every is the pause between two looks, at least 200 ms; 0 means 1 s.
	Every time.Duration
	// Progress, if set, is told after each look how many statements were counted.
	Progress func(statements uint64)
}

// Sample watches a running server without any log: each second it takes how
// often every statement ran since the last look from performance_schema, and
// what runs now from the process list. Without performance_schema only
// statements that are caught running are counted, which are lower bounds; the
// coverage says so. When the context ends, what was seen so far is returned
// with a nil error.
func (s *Server) Sample(ctx context.Context, o SampleOptions) (*querylog.Summary, error) {
	if o.Every <= 0 {
		o.Every = time.Second
	}
	o.Every = max(o.Every, 200*time.Millisecond)
	if o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.For)
		defer cancel()
	}
	w := &watcher{s: s, out: &querylog.Summary{}, seen: map[process]bool{}}
	w.cov = querylog.Coverage{Source: s.address + " live", Version: s.Version, Server: s.flavour(), Complete: true}
	if !s.PerfSchema {
		w.cov.SampleKind = querylog.SampledProcesses
	}
	w.ownShapes()
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.cov.Complete, w.cov.Stopped = false, err.Error()
			w.out.Cover(w.cov)
			return w.out, err
		}
		if o.Progress != nil {
			o.Progress(w.out.Statements())
		}
		select {
		case <-ctx.Done():
			w.out.Cover(w.cov)
			return w.out, nil
		case <-tick.C:
		}
	}
}

// watcher is the state of one Sample.
type watcher struct {
	s    *Server
	out  *querylog.Summary
	cov  querylog.Coverage
	lex  sqltext.Lexer
	own  map[uint64]bool
	last map[string]digest
	at   time.Time
	seen map[process]bool

	running []Running // of the last look
}

// digest is one row of events_statements_summary_by_digest.
type digest struct{ n, wait, sent, errors uint64 }

// process identifies one statement in the process list: a connection and when its statement began.
type process struct {
	id    uint64
	start int64
	text  uint64
}

// ownShapes lists the statements that are not to be counted.
func (w *watcher) ownShapes() {
	w.own = map[uint64]bool{}
	for _, a := range ExplainAccess() {
		w.own[w.lex.Sum([]byte(a.SQL)).Shape] = true
	}
}

// look takes one sample.
func (w *watcher) look(ctx context.Context) error {
	if w.s.PerfSchema {
		if err := w.digests(ctx); err != nil {
			return err
		}
	}
	return w.processes(ctx)
}

// digests counts what ran since the last look.
func (w *watcher) digests(ctx context.Context) error {
	now := time.Now().UTC()
	next := make(map[string]digest, len(w.last))
	err := w.s.query(ctx, sqlDigests, func(r *sql.Rows) error {
		var schema, id, text string
		var d digest
		if err := r.Scan(&schema, &id, &text, &d.n, &d.wait, &d.sent, &d.errors); err != nil {
			return err
		}
		key := schema + "\x00" + id
		next[key] = d
		if w.last != nil && id != "" {
			w.delta(now, schema, text, w.last[key], d)
		}
		return nil
	})
	w.last, w.at = next, now
	return err
}

// delta counts the runs of one digest between two looks, in the middle of
// the time between them.
func (w *watcher) delta(now time.Time, schema, text string, before, d digest) {
	if d.n <= before.n { // the same, or truncated in between
		return
	}
	n := d.n - before.n
	text = strings.NewReplacer("(...)", "(?)", "...", "?").Replace(text)
	sum := w.lex.Sum([]byte(text))
	if w.own[sum.Shape] {
		return
	}
	e := querylog.Event{
		Time: w.at.Add(now.Sub(w.at) / 2), Query: []byte(text), DB: schema, Shape: sum.Shape, Text: sum.Text,
		Has: querylog.HasTime | querylog.HasDuration,
	}
	if d.wait >= before.wait {
		e.Duration = time.Duration((d.wait - before.wait) / n / 1000) // picoseconds
	}
	w.out.ObserveMany(&e, n, &w.cov)
}

// processes looks at what runs now: identical texts, and without
// performance_schema each statement that was not seen before.
func (w *watcher) processes(ctx context.Context) error {
	now := time.Now().UTC()
	seen := map[process]bool{}
	type copies struct {
		e     querylog.Event
		hosts map[string]uint64
	}
	same := map[uint64]*copies{}
	err := w.s.query(ctx, sqlProcesses, func(r *sql.Rows) error {
		var id uint64
		var user, host, db, seconds string
		var info []byte
		if err := r.Scan(&id, &user, &host, &db, &seconds, &info); err != nil {
			return err
		}
		sum := w.lex.Sum(info)
		if w.own[sum.Shape] {
			return nil
		}
		host, _, _ = strings.Cut(host, ":")
		age, _ := time.ParseDuration(seconds + "s")
		e := querylog.Event{
			Time: now.Add(-age), Query: info, Size: int64(len(info)), User: user, Host: host, DB: db, ThreadID: id,
			Shape: sum.Shape, Text: sum.Text, Has: querylog.HasTime | querylog.HasThread,
		}
		p := process{id, e.Time.Unix(), sum.Text}
		seen[p] = true
		if !w.s.PerfSchema && !w.seen[p] && !w.seen[process{id, p.start - 1, p.text}] && !w.seen[process{id, p.start + 1, p.text}] {
			w.out.Observe(&e, &w.cov)
		}
		c := same[sum.Text]
		if c == nil {
			c = &copies{e: e, hosts: map[string]uint64{}}
			same[sum.Text] = c
		}
		c.hosts[host]++
		return nil
	})
	w.seen = seen
	for _, c := range same {
		w.runs(&c.e, c.hosts)
	}
	if w.s.PerfSchema {
		for _, c := range same {
			c.e.Time = now
			w.out.Sight(&c.e, c.hosts)
		}
	}
	return err
}
