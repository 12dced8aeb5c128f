package spread

import (
	"context"
	"slices"

	"github.com/herdscan/herdscan/scan"
)

// A Setter changes expiries: scan.Expirer.
type Setter interface {
	Set(ctx context.Context, changes []scan.Change) ([]scan.Outcome, error)
}

// A Result sums up what became of changes.
type Result struct {
	Total  int
	Counts map[scan.Outcome]int
	Errors []string // each once
}

// Done is the number of keys whose outcome is final.
func (r *Result) Done() int { return r.Total - r.Counts[scan.Unreached] }

func (r *Result) add(outcomes []scan.Outcome, err error) {
	for _, o := range outcomes {
		r.Counts[o]++
	}
	if err == nil {
		return
	}
	if text := err.Error(); !slices.Contains(r.Errors, text) && len(r.Errors) < maxErrors {
		r.Errors = append(r.Errors, text)
	}
}

const (
	batchKeys = 500 // keys between two lines of the log
	maxErrors = 10
)

// Apply writes what is left of the plan, batch by batch, and records each
// batch in the log. When ctx ends it stops after what was sent, with ctx's
// error; keys that could not be reached are in the Result. Any other error is
// the log's own. A key that an earlier run has seen to is not sent again.
func (l *Log) Apply(ctx context.Context, s Setter, progress func(done, total int)) (*Result, error) {
	r := &Result{Total: len(l.Changes), Counts: make(map[scan.Outcome]int)}
	for from := 0; from < len(l.Changes); from += batchKeys {
		to := min(from+batchKeys, len(l.Changes))
		if l.settled(from, to) {
			r.add(l.Outcomes[from:to], nil)
			continue
		}
		if ctx.Err() != nil {
			r.Counts[scan.Unreached] += to - from
			continue
		}
		outcomes, err := l.send(ctx, s, from, to)
		if ctx.Err() != nil {
			err = nil // the caller knows
		}
		r.add(outcomes, err)
		if err := l.record(from, outcomes); err != nil {
			return r, err
		}
		progress(to, r.Total)
	}
	return r, ctx.Err()
}

// send makes those changes of a batch that are not settled yet.
func (l *Log) send(ctx context.Context, s Setter, from, to int) ([]scan.Outcome, error) {
	var open []scan.Change
	for i := from; i < to; i++ {
		if !settled(l.Outcomes[i]) {
			open = append(open, l.Changes[i])
		}
	}
	sent, err := s.Set(ctx, open)
	outcomes := slices.Clone(l.Outcomes[from:to])
	for i := range outcomes {
		if !settled(outcomes[i]) {
			outcomes[i], sent = sent[0], sent[1:]
		}
	}
	return outcomes, err
}

func (l *Log) settled(from, to int) bool {
	return !slices.ContainsFunc(l.Outcomes[from:to], func(o scan.Outcome) bool { return !settled(o) })
}

// settled tells whether nothing is left to do for a key.
func settled(o scan.Outcome) bool { return o != 0 && o != scan.Unreached }

// Left is the number of keys that are not settled.
func (l *Log) Left() (n int) {
	for _, o := range l.Outcomes {
		if !settled(o) {
			n++
		}
	}
	return n
}

// Backward returns the changes that put back what was written, or may have
// been.
func (l *Log) Backward() []scan.Change {
	var back []scan.Change
	for i, c := range l.Changes {
		if o := l.Outcomes[i]; o == scan.Written || !settled(o) {
			back = append(back, scan.Change{KeyRef: c.KeyRef, Old: c.New, New: c.Old})
		}
	}
	return back
}

// Undo makes the changes of Backward. It may be run again: a key that has its
// old expiry already stays as it is.
func Undo(ctx context.Context, s Setter, back []scan.Change, progress func(done, total int)) (*Result, error) {
	r := &Result{Total: len(back), Counts: make(map[scan.Outcome]int)}
	for from := 0; from < len(back); from += batchKeys {
		batch := back[from:min(from+batchKeys, len(back))]
		if ctx.Err() != nil {
			r.Counts[scan.Unreached] += len(batch)
			continue
		}
		outcomes, err := s.Set(ctx, batch)
		if ctx.Err() != nil {
			err = nil
		}
		r.add(outcomes, err)
		progress(from+len(batch), r.Total)
	}
	return r, ctx.Err()
}
