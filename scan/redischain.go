package scan

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
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

// A chain walks a database, or a part of it, by one cursor on one connection. Each round trip asks for the expiries
// of one page and for the names of the next.
//
// SCAN goes through the buckets of the hash table in the order of their bit-reversed numbers. The buckets whose
// numbers end in the same m bits are therefore neighbours, and chain i of 2^m may begin at the bit-reversed i and end
// when the last m bits of the cursor change. Redis does not promise this, so only servers known to do it are walked
// like that, and the walk is checked.
type chain struct {
	part   *part
	method expiryMethod
	mask   uint64 // of the low bits that stay the same within this chain; 0 for the only chain
	start  uint64

	cursor string
	conn   *redis.Conn
	close  func()
	wait   waitMeter
	queue  []redis.Cmder
	sent   time.Time

	free chan *page
	read int // keys listed so far
	last *page
}

func newChain(p *part, m expiryMethod, index, count int) *chain {
	c := &chain{part: p, method: m, cursor: "0", free: make(chan *page, pagesPerChain)}
	if count > 1 {
		shift := bits.Len(uint(count)) - 1
		c.mask = uint64(count) - 1
		c.start = bits.Reverse64(uint64(index)) >> (64 - shift)
		c.cursor = strconv.FormatUint(c.start, 10)
	}
	for range pagesPerChain {
		c.free <- newPage(p, c.free)
	}
	return c
}

// run walks to the end of the chain and sends its pages to out. The last page of one chain of several is kept in
// c.last: it may hold keys of the next chain and is sent when the heads of all chains are known.
func (c *chain) run(ctx context.Context, out chan<- *page) error {
	defer c.disconnect()
	var current *page
	for done := false; !done; {
		next, err := c.take(ctx)
		if err != nil {
			return err
		}
		cursor, err := c.fetch(ctx, current, next)
		if err != nil {
			return err
		}
		if err := send(ctx, out, current); err != nil {
			return err
		}
		if done, err = c.arrived(cursor); err != nil {
			return err
		}
		c.read += len(next.names)
		next.head = c.start != 0 && c.read-len(next.names) < headKeys
		c.cursor, current = cursor, next
	}
	if err := c.finish(ctx, current); err != nil {
		return err
	}
	if c.mask != 0 {
		current.tail, c.last = true, current
		return nil
	}
	return send(ctx, out, current)
}

// arrived reports whether cursor is the end of the chain.
func (c *chain) arrived(cursor string) (bool, error) {
	if cursor == "0" || c.mask == 0 {
		return cursor == "0", nil
	}
	n, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil {
		return false, errNotDivisible
	}
	if n&c.mask == c.start {
		return false, nil
	}
	if c.read == 0 {
		return false, errNotDivisible
	}
	return true, nil
}

// errNotDivisible says that the cursors are not those of a hash table walked in bit-reversed order.
var errNotDivisible = errors.New("the server's cursors cannot be walked in parallel")

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
	next.cursor, next.count = c.cursor, c.part.pacer.size()
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

func (c *chain) retry(ctx context.Context, try func() error) error {
	err := try()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && c.conn != nil && problemOf(err) == ProblemClosed {
		c.disconnect()
		err = try()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.part.node.explain(err)
}

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
