package querylog

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// Summarise reads sources, in the order given, into one Summary. Blocks are
// parsed in parallel and counted in the order of the log, so the result does
// not depend on the number of workers or on the size of the blocks.
//
// A source that can't be read is stated in the Summary's coverage and in the
// error, and the others are read all the same; the Summary is never nil. When
// the context ends, what was read so far is returned with its error.
func Summarise(ctx context.Context, sources []Source, o Options) (*Summary, error) {
	s := &Summary{fold: o.FoldDigits}
	var errs []error
	var threads map[uint64]*client // of the general log before: connections outlive a rotation
	for _, src := range sources {
		if err := s.read(ctx, src, o, &threads, nil); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.settle()
	return s, errors.Join(errs...)
}

// read counts one source. It takes the open connections of the source before
// and leaves its own. each, if set, is called for every event instead.
func (s *Summary) read(ctx context.Context, src Source, o Options, threads *map[uint64]*client, each func(*Event)) error {
	cov := Coverage{Source: src.Name}
	in, err := openInput(src)
	if err != nil {
		cov.Stopped = stopped(src.Name, err)
		s.coverage = append(s.coverage, cov)
		return err
	}
	cov.Format = in.format
	rs := newResolver(o)
	if *threads != nil {
		rs.threads = *threads
	}
	*threads = rs.threads
	c := counter{s: s, rs: rs, in: in, o: o, cov: &cov, each: each}
	err = c.run(ctx)
	c.finish(err)
	s.coverage = append(s.coverage, cov)
	return err
}

// counter counts the blocks of one source in their order.
type counter struct {
	s    *Summary
	rs   *resolver
	in   *input
	o    Options
	cov  *Coverage
	each func(*Event)

	restarted bool // a banner was seen, the next event tells when
	done      int64
}

// job is a block on its way through a parser.
type job struct {
	b     *block
	ready chan struct{}
}

// run cuts, parses in parallel and counts in order.
func (c *counter) run(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	workers := c.o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	cut := newCutter(c.in.r, c.in.grammar, c.o.BlockSize)
	order := make(chan *job, workers+1)
	work := make(chan *job, workers+1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(order)
		defer close(work)
		for {
			b := cut.next()
			if b == nil {
				return
			}
			j := &job{b: b, ready: make(chan struct{})}
			select {
			case order <- j:
				work <- j
			case <-ctx.Done():
				return
			}
		}
	})
	for range workers {
		wg.Go(func() {
			lex := sqltext.Lexer{FoldDigits: c.o.FoldDigits}
			for j := range work {
				parseBlock(j.b, c.in.grammar, &lex)
				close(j.ready)
			}
		})
	}
	err := c.count(ctx, cut, order)
	cancel()
	end := func() error {
		for range order { // let the cutter see the end
		}
		wg.Wait()
		return c.in.Close()
	}
	if parent.Err() != nil {
		go end() //nolint:errcheck // a read that blocks for ever must not hold up an interrupt
		return err
	}
	if closing := end(); err == nil { // a broken archive says the same thing twice
		err = closing
	}
	return err
}

// count takes the parsed blocks in order.
func (c *counter) count(ctx context.Context, cut *cutter, order <-chan *job) error {
	bs := &blocks{g: c.in.grammar, lex: sqltext.Lexer{FoldDigits: c.o.FoldDigits}, recycle: cut.recycle}
	bs.pull = func() *block {
		j, ok := <-order
		if !ok {
			return nil
		}
		<-j.ready
		return j.b
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := bs.next()
		if b == nil {
			return ctx.Err()
		}
		c.block(b)
		last, err := b.last, b.err
		bs.release(b)
		if last {
			return err
		}
	}
}

// block counts the records of one block.
func (c *counter) block(b *block) {
	c.rs.begin(b)
	m := 0
	for i := range b.records {
		var rate mark
		for ; m < len(b.marks) && b.marks[m].before <= i; m++ {
			c.mark(b.marks[m])
			if b.marks[m].rate > 0 {
				rate = b.marks[m]
			}
		}
		e := c.rs.eventOf(b, c.in.format, i)
		if rate.rate > 1 {
			c.cov.sampled(e, rate.rate, rate.kind)
		}
		c.cov.observe(e)
		if !c.o.inWindow(e) {
			continue
		}
		c.cov.Counted++
		if c.restarted && e.Has&HasTime != 0 {
			c.restarted = false
			if len(c.s.restarts) < maxStarts {
				c.s.restarts = append(c.s.restarts, e.Time)
			}
		}
		if c.each != nil {
			c.each(e)
			continue
		}
		c.s.fine = c.rs.fine
		c.s.Add(e)
	}
	for ; m < len(b.marks); m++ {
		c.mark(b.marks[m])
	}
	for i := range b.faults {
		c.cov.fault(b.parseError(c.in.name, i))
	}
	c.done += int64(len(b.data)) + b.overflow
	c.cov.Bytes = b.offset + int64(len(b.data)) + b.overflow
	if c.o.Progress != nil {
		c.o.Progress(c.cov.Bytes)
	}
}

// mark takes a banner; a sampling marker is of its record.
func (c *counter) mark(m mark) {
	started := c.cov.Read > 0
	c.rs.mark(m, started)
	if m.version != "" {
		c.restarted = started
	}
}

// finish states what the source was.
func (c *counter) finish(err error) {
	v := c.cov
	v.Complete = err == nil
	if err != nil {
		v.Stopped = stopped(v.Source, err)
	}
	v.Version = c.rs.version
	if v.Server = c.rs.writer; v.Server == ServerUnknown {
		v.Server = c.rs.banner
	}
	v.ServerGuessed = c.rs.guessed
	v.Falsified = c.rs.falsified
	v.Repeated = c.rs.clock.unresolved
	v.Fine = c.rs.fine
	v.Offset, v.HasOffset = time.Duration(c.rs.offset), c.rs.hasOffset
	v.ZoneAssumed = c.rs.unzoned
	if v.ZoneAssumed {
		v.Zone = "UTC"
		if c.o.Zone != nil {
			v.Zone = c.o.Zone.String()
		}
	}
	if v.Read > 0 {
		c.s.fine = c.s.fine || v.Fine
		c.s.coarse = c.s.coarse || !v.Fine
	}
	if u := c.in.unwrap; u != nil {
		u.report(v)
	}
}
