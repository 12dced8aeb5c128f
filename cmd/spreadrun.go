package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
	"github.com/herdscan/herdscan/watch/spread"
)

// A spreadRun is one run of spread.
type spreadRun struct {
	env  Env
	opts *spreadOptions
	doc  spreadDoc
}

// open connects to the primaries of the server.
func (s *spreadRun) open(ctx context.Context, args []string, logged string, bar *progress) (*scan.Redis, error) {
	source, err := s.opts.server(s.env, args, logged)
	if err != nil {
		return nil, err
	}
	o, err := s.opts.redis(s.env, source.url)
	if err != nil {
		return nil, err
	}
	o.Primary, o.Progress = true, bar.set
	return scan.OpenRedis(ctx, o)
}

// spread plans and, with --yes, writes.
func (s *spreadRun) spread(ctx context.Context, args []string, o spread.Options) error {
	defer frugal()()
	bar := newProgress(s.env, "keys")
	defer bar.done()
	r, err := s.open(ctx, args, "", bar)
	if err != nil {
		return err
	}
	plan, err := s.plan(ctx, r, o)
	bar.done()
	if err != nil {
		return err
	}
	s.doc.plan = plan
	if s.opts.yes && len(plan.Changes) > 0 {
		log, err := s.create(r, plan)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, r, log); err != nil {
			return err
		}
	}
	return s.opts.out.deliver(ctx, s.doc.document)
}

// plan reads the keys and works out what to do.
func (s *spreadRun) plan(ctx context.Context, r *scan.Redis, o spread.Options) (*spread.Plan, error) {
	about, info, err := describeSource(ctx, r)
	if err != nil {
		return nil, err
	}
	keys, sum := spread.NewCollector(o), &ttlhist.Summary{}
	sum.Begin(about)
	began := s.env.Now()
	failed := r.Keys(ctx, func(k *scan.Key) error {
		sum.Add(k)
		keys.Add(k)
		return nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	took := s.env.Now().Sub(began)
	coverage, parts := describe(r, about, failed, took)
	sum.End(parts...)
	s.doc.coverage = []report.Coverage{coverage}
	s.doc.notes = append(serverNotes(info), impactLines(r.Impact())...)
	plan, err := keys.Plan(ttlhist.Analyse(sum, ttlhist.Options{Kinds: o.Kinds}), about.Now.Add(took))
	if err != nil {
		return nil, plainRefusal(err)
	}
	return plan, s.check(ctx, r, plan)
}

// plainRefusal adds what else could be spread.
func plainRefusal(err error) error {
	var none *spread.PatternError
	if errors.As(err, &none) && len(none.Near) > 0 {
		return fmt.Errorf("%w; there are %s (see herdscan ttl)", err, strings.Join(none.Near, ", "))
	}
	return err
}

// typeSample is how many keys are asked for their type.
const typeSample = 100

// check looks at what the names of the keys don't tell, and makes the expiries
// exact where they are not.
func (s *spreadRun) check(ctx context.Context, r *scan.Redis, plan *spread.Plan) error {
	if len(plan.Changes) == 0 {
		return nil
	}
	details, err := r.Inspect(ctx, plan.Sample(typeSample))
	if err != nil {
		return err
	}
	if err := plan.CheckTypes(details); err != nil {
		return err
	}
	exact, err := r.Exact(ctx)
	if err != nil || exact {
		return err
	}
	refs := make([]scan.KeyRef, len(plan.Changes))
	for i, c := range plan.Changes {
		refs[i] = c.KeyRef
	}
	expires, err := r.ExactExpiries(ctx, refs)
	if err != nil {
		return err
	}
	if n := plan.Sharpen(expires); n > 0 {
		s.doc.notes = append(s.doc.notes, report.Count(n, "keys")+" were written while the plan was made: they are left alone")
	}
	return nil
}

// create makes the log. Nothing is written to the server before all of it is
// on disk.
func (s *spreadRun) create(r *scan.Redis, plan *spread.Plan) (*spread.Log, error) {
	path := s.opts.log
	if path == "" {
		path = "herdscan-spread-" + s.env.Now().UTC().Format("20060102T150405Z") + ".ndjson"
	}
	log, err := spread.Create(path, spread.Header{Version: version, Source: r.String()}, plan)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("--log %s: the file exists, and a log is never overwritten (--resume goes on with it)", path)
	}
	if err != nil {
		return nil, fmt.Errorf("--log %s: %w", path, withoutPath(err))
	}
	return log, nil
}

// apply writes what is left of the plan in a log.
func (s *spreadRun) apply(ctx context.Context, r *scan.Redis, log *spread.Log) error {
	x, err := r.Expirer(ctx, uint64(log.Left()))
	if err != nil {
		return errors.Join(err, log.Close())
	}
	fmt.Fprintf(s.env.Stderr, "herdscan: writing %s; Ctrl-C stops between two batches; log: %s\n", report.Count(log.Left(), "expiries"), report.Clean(log.Path))
	bar := newProgress(s.env, "expiries")
	began := s.env.Now()
	result, err := log.Apply(ctx, x, func(done, total int) { bar.set(uint64(done), uint64(total)) })
	bar.done()
	x.Close()
	s.doc.wrote(log, result, x, s.env.Now().Sub(began))
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w; what was sent before is in it", log.Path, err)
		return errors.Join(err, log.Close())
	}
	return log.Close()
}

// resume goes on with the plan in a log.
func (s *spreadRun) resume(ctx context.Context, args []string) error {
	log, err := spread.Open(s.opts.resume, s.opts.yes)
	if err != nil {
		return fmt.Errorf("--resume %s: %w", s.opts.resume, withoutPath(err))
	}
	defer log.Close()
	s.doc.log = log
	if s.opts.yes && log.Left() > 0 {
		r, err := s.open(ctx, args, log.Source, &progress{off: true})
		if err != nil {
			return err
		}
		s.doc.reached(r, log)
		if err := s.apply(ctx, r, log); err != nil {
			return err
		}
	}
	return s.opts.out.deliver(ctx, s.doc.document)
}

// undo puts back what still has the expiry that was written.
func (s *spreadRun) undo(ctx context.Context, args []string) error {
	log, err := spread.Open(s.opts.undo, false)
	if err != nil {
		return fmt.Errorf("--undo %s: %w", s.opts.undo, withoutPath(err))
	}
	s.doc.log, s.doc.undoing = log, true
	back := log.Backward()
	r, err := s.open(ctx, args, log.Source, &progress{off: true})
	if err != nil {
		return err
	}
	s.doc.reached(r, log)
	if !s.opts.yes {
		if err := s.countUndo(ctx, r, back); err != nil {
			return err
		}
		return s.opts.out.deliver(ctx, s.doc.document)
	}
	x, err := r.Expirer(ctx, uint64(len(back)))
	if err != nil {
		return err
	}
	bar := newProgress(s.env, "expiries")
	began := s.env.Now()
	result, _ := spread.Undo(ctx, x, back, func(done, total int) { bar.set(uint64(done), uint64(total)) })
	bar.done()
	x.Close()
	s.doc.wrote(log, result, x, s.env.Now().Sub(began))
	return s.opts.out.deliver(ctx, s.doc.document)
}

// countUndo asks which keys could be put back.
func (s *spreadRun) countUndo(ctx context.Context, r *scan.Redis, back []scan.Change) error {
	refs := make([]scan.KeyRef, len(back))
	for i, c := range back {
		refs[i] = c.KeyRef
	}
	expires, err := r.ExactExpiries(ctx, refs)
	if err != nil {
		return err
	}
	result := &spread.Result{Total: len(back), Counts: make(map[scan.Outcome]int)}
	now := time.Now().UnixMilli()
	for i, c := range back {
		result.Counts[undoable(c, expires[i], now)]++
	}
	s.doc.could = result
	return nil
}

// putBack is what a dry run of --undo says of a key that has its old expiry
// already.
const putBack scan.Outcome = 'b'

// undoable says what --undo would make of a key.
func undoable(c scan.Change, at, now int64) scan.Outcome {
	switch {
	case at == scan.Gone:
		return scan.Vanished
	case at == scan.NoExpiry:
		return scan.Persistent
	case at == c.Old && c.New > now:
		return scan.Written
	case at == c.Old:
		return scan.Late
	case at == c.New:
		return putBack
	default:
		return scan.Changed
	}
}
