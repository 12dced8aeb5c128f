package scan

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxChains = 8
	// minChainedKeys is the size from which a database may be cut into chains.
	minChainedKeys = 20_000
	// headKeys is how many keys at the head of a chain are remembered: more than the one page by which the chain
	// before can run into it.
	headKeys = 2 * fastPageKeys
	// pagesPerChain lets the consumer work on some pages while the next ones are read.
	pagesPerChain = 4
	// maxPipeline bounds the expiries asked for at once, for servers that answer SCAN with far more than COUNT.
	maxPipeline = fastPageKeys
)

// A chain walks a database, or a part of it, along its route by one cursor on one connection. Each round trip asks
// for the expiries of one page and for the names of the next.
type chain struct {
	part   *part
	method expiryMethod
	route  route
	// divided is true for one of several chains that together walk the whole: each may run into the next one.
	divided bool
	gate    *gate

	cursor string
	conn   *redis.Conn
	close  func()
	wait   waitMeter
	queue  []redis.Cmder
	sent   time.Time

	fields fieldLook

	free chan *page
	last *page
}

func newChain(p *part, m expiryMethod, r route) *chain {
	_, divided := r.(*divisionRoute)
	c := &chain{part: p, method: m, route: r, divided: divided, cursor: r.first(), free: make(chan *page, pagesPerChain)}
	c.fields.part = p
	for range pagesPerChain {
		c.free <- newPage(p, c.free)
	}
	return c
}

// A gate holds all chains of a divided walk back until each has seen its first page: only then is it known that the
// walk can be divided, and none must have sent anything before.
type gate struct {
	missing atomic.Int32
	open    chan struct{}
}

func newGate(chains int) *gate {
	g := &gate{open: make(chan struct{})}
	g.missing.Store(int32(chains))
	return g
}

func (g *gate) pass(ctx context.Context) error {
	if g.missing.Add(-1) == 0 {
		close(g.open)
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run walks to the end of the route and sends its pages to out. The last page of a divided walk is kept in c.last: it
// may hold keys of the next chain and is sent when the heads of all chains are known.
func (c *chain) run(ctx context.Context, out chan<- *page) error {
	defer c.disconnect()
	defer c.fields.disconnect()
	var current *page
	read := 0
	for done := false; !done; {
		next, err := c.take(ctx)
		if err != nil {
			return err
		}
		cursor, err := c.fetch(ctx, current, next)
		if err != nil {
			return err
		}
		if err := c.fields.look(ctx, current); err != nil {
			return err
		}
		if err := send(ctx, out, current); err != nil {
			return err
		}
		next.head = c.divided && read < headKeys
		listed := len(next.names)
		read += listed
		next.filter(c.route.keep)
		if c.cursor, done, err = c.route.after(cursor, listed); err != nil {
			return err
		}
		if current == nil && c.gate != nil {
			if err := c.gate.pass(ctx); err != nil {
				return err
			}
		}
		current = next
	}
	if err := c.finish(ctx, current); err != nil {
		return err
	}
	if err := c.fields.look(ctx, current); err != nil {
		return err
	}
	if c.divided {
		current.tail, c.last = true, current
		return nil
	}
	return send(ctx, out, current)
}

func (c *chain) take(ctx context.Context) (*page, error) {
	if err := c.part.pacer.wait(ctx); err != nil {
		return nil, err
	}
	select {
	case g := <-c.free:
		return g, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func send(ctx context.Context, out chan<- *page, g *page) error {
	if g == nil {
		return nil
	}
	select {
	case out <- g:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetch asks for the expiries of current (nil on the first call) and the names of next in one round trip. A lost
// connection is made again once: cursors live in the client, so nothing is skipped or read twice.
func (c *chain) fetch(ctx context.Context, current, next *page) (cursor string, err error) {
	next.cursor, next.count = c.cursor, c.route.pageKeys()
	if next.count == 0 {
		next.count = c.part.pacer.size()
	}
	err = c.retry(ctx, func() error {
		next.scan.reset()
		if err := c.ask(ctx, current, next); err != nil {
			return err
		}
		cursor, err = next.listed()
		if missing, ok := commandError(c.part.node.name, "scan", err); ok {
			return missing
		}
		return err
	})
	return cursor, err
}

// finish asks for the expiries of the last page.
func (c *chain) finish(ctx context.Context, last *page) error {
	return c.retry(ctx, func() error { return c.ask(ctx, last, nil) })
}

// retry also waits for a server that is busy for a moment, such as during a failover, but no longer than for any
// answer.
func (c *chain) retry(ctx context.Context, try func() error) error {
	err := try()
	if err != nil && ctx.Err() == nil && problemOf(err) == ProblemClosed {
		c.disconnect()
		err = try()
	}
	for waited := time.Duration(0); isTransient(err) && waited < c.part.node.opts.Timeout; waited += transientPause {
		if err := sleep(ctx, transientPause); err != nil {
			return err
		}
		err = try()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.part.node.explain(err)
}

const transientPause = 50 * time.Millisecond

// ask runs one pipeline: the expiries of current, then SCAN for next; each may be nil. An unusually long page is
// asked for in several pipelines.
func (c *chain) ask(ctx context.Context, current, next *page) error {
	c.connect(ctx)
	if current != nil {
		current.expireMS = current.expireMS[:0]
		for from := 0; from < len(current.names)-maxPipeline; from += maxPipeline {
			if err := c.exec(ctx, current, from, from+maxPipeline, nil); err != nil {
				return err
			}
		}
		return c.exec(ctx, current, len(current.expireMS), len(current.names), next)
	}
	return c.exec(ctx, nil, 0, 0, next)
}

func (c *chain) exec(ctx context.Context, current *page, from, to int, next *page) error {
	for try := 0; ; try++ {
		if err := c.roundTrip(ctx, current, from, to, next); err != nil || from == to {
			return err
		}
		base, slack, err := c.base(current)
		if err != nil {
			return err
		}
		if slack >= maxSlack && try < clockTries {
			next = nil // it was listed already
			continue
		}
		c.part.slack.Store(max(c.part.slack.Load(), int64(slack/time.Millisecond)))
		return current.decode(to-from, base)
	}
}

const (
	// maxSlack is how long the server may take from the first of a page's relative expiries to the last: it might
	// have been interrupted in between, and then they are as wrong as that took.
	maxSlack   = 2 * time.Millisecond
	clockTries = 4
)

func (c *chain) roundTrip(ctx context.Context, current *page, from, to int, next *page) error {
	c.queue = c.queue[:0]
	if from < to {
		current.expiries.reset()
		current.clock.reset()
		if c.method.hasClock {
			c.queue = append(c.queue, current.clockCmd)
		}
		c.queue = append(c.queue, current.expiryCmds(c.method.command, from, to)...)
		if c.method.hasClock {
			c.queue = append(c.queue, current.clockCmd)
		}
	}
	if next != nil {
		c.queue = append(c.queue, next.scanCmd)
	}
	pipe := c.conn.Pipeline()
	_ = pipe.BatchProcess(ctx, c.queue...) // queues only: it never fails
	c.sent = time.Now()
	c.wait.total = 0
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	c.part.pacer.done(c.wait.total, to-from)
	return nil
}

// base is the server's clock in Unix ms before relative expiries were asked for, and the time it took to answer all.
func (c *chain) base(g *page) (ms int64, slack time.Duration, err error) {
	switch {
	case c.method.command != "pttl":
		return 0, 0, nil
	case !c.method.hasClock:
		return c.sent.Add(c.method.offset).UnixMilli(), 0, nil
	}
	p := replyParser{g.clock.b}
	before, err1 := p.time()
	after, err2 := p.time()
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, fmt.Errorf("read the server's clock: %w", err)
	}
	return before.UnixMilli(), after.Sub(before), nil
}

// connect makes the chain's own connection unless it is there. It closes when ctx ends, which unblocks a pending read.
func (c *chain) connect(ctx context.Context) {
	if c.conn != nil {
		return
	}
	client := c.part.node.client(c.part.db, &c.wait)
	c.conn = client.Conn()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	c.close = func() {
		stop()
		c.conn.Close()
		client.Close()
	}
}

func (c *chain) disconnect() {
	if c.conn != nil {
		c.close()
		c.conn = nil
	}
}
