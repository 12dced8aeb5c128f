package scan

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// recentKeys is how many names a part remembers to drop what SCAN lists again. When a hash table shrinks, the
// buckets listed again are those just walked, so a short memory is enough.
const recentKeys = 8192

// A part is one database of one server, and the account of its walk. The walking goroutines touch only node, pacer
// and refusal; the rest belongs to the goroutine that calls yield.
type part struct {
	node  *node
	db    int
	pacer *pacer

	err     error // why the walk ended early
	cov     Coverage
	pages   uint64
	hits    uint64
	chains  int
	refusal atomic.Pointer[string] // the first refusal to tell an expiry
	slack   atomic.Int64           // how many ms relative expiries may be early, at most

	seed   maphash.Seed
	recent [recentKeys]uint64
	heads  map[uint64]struct{}
	moved  []KeyRef
}

func newPart(n *node, db int) *part {
	name := n.name
	if n.info.Mode != "cluster" {
		name = fmt.Sprintf("%s/%d", n.name, db)
	}
	return &part{
		node: n, db: db, seed: maphash.MakeSeed(), heads: make(map[uint64]struct{}),
		cov: Coverage{Name: name, Sampled: 1},
	}
}

// duplicate reports whether the name was listed before, as far as the part remembers.
func (p *part) duplicate(g *page, name []byte) bool {
	h := maphash.Bytes(p.seed, name)
	if g.tail {
		if _, found := p.heads[h]; found {
			return true
		}
	}
	if g.head {
		p.heads[h] = struct{}{}
	}
	slot := &p.recent[h%recentKeys]
	if *slot == h {
		return true
	}
	*slot = h
	return false
}

// walk reads the whole part and sends its pages to out.
func (p *part) walk(ctx context.Context, out chan<- *page) error {
	before, err := p.node.size(ctx, p.db)
	if err != nil {
		if _, ok := commandError(p.node.name, "dbsize", err); !ok {
			return err
		}
		p.cov.Notes = append(p.cov.Notes, "the number of keys is unknown: "+err.Error())
	}
	p.cov.Total = before
	method, notes, err := p.node.chooseExpiry(ctx)
	if err != nil {
		return err
	}
	p.cov.Notes = append(p.cov.Notes, notes...)
	p.chains = p.chainCount(before)
	err = p.walkChains(ctx, method, out)
	if errors.Is(err, errNotDivisible) && p.chains > 1 {
		p.chains = 1
		p.cov.Notes = append(p.cov.Notes, err.Error()+": one cursor was used")
		err = p.walkChains(ctx, method, out)
	}
	return err
}

// chainCount is how many chains the part is cut into.
func (p *part) chainCount(keys uint64) int {
	if keys < minChainedKeys || !p.node.divisible() {
		return 1
	}
	if p.node.opts.Chains > 0 {
		return p.node.opts.Chains
	}
	return p.pacer.chains()
}

// divisible reports whether the server is known to walk one hash table in bit-reversed order. In cluster mode newer
// servers keep one table for each slot.
func (n *node) divisible() bool {
	if n.info.Mode == "cluster" {
		return false
	}
	return n.info.Kind == "redis" || n.info.Kind == "valkey"
}

// walkChains runs all chains of the part and sends their last pages when all are through.
func (p *part) walkChains(ctx context.Context, m expiryMethod, out chan<- *page) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	chains := make([]*chain, p.chains)
	errs := make([]error, p.chains)
	var wg sync.WaitGroup
	for i := range chains {
		c := newChain(p, m, i, p.chains)
		chains[i] = c
		wg.Go(func() {
			if errs[i] = c.run(ctx, out); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := firstCause(errs); err != nil {
		return err
	}
	for _, c := range chains {
		if err := send(ctx, out, c.last); err != nil {
			return err
		}
	}
	return nil
}

// firstCause returns the error that made the others stop.
func firstCause(errs []error) error {
	var cancelled error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil {
			cancelled = err
		}
	}
	return cancelled
}

// close completes the account after the walk.
func (p *part) close(ctx context.Context) {
	if p.err != nil {
		p.cov.Errors = append(p.cov.Errors, p.err)
	}
	if p.node == nil {
		return
	}
	if p.node.only != "" {
		p.cov.Notes = append(p.cov.Notes, p.node.only)
	}
	if text := p.refusal.Load(); text != nil {
		p.cov.Notes = append(p.cov.Notes, fmt.Sprintf("the expiry of %d keys was refused, first: %s", p.cov.Denied, *text))
	}
	if ms := p.slack.Load(); ms > 0 {
		p.cov.Notes = append(p.cov.Notes, fmt.Sprintf("the server was interrupted: some expiries may be early by up to %d ms", ms))
	}
	p.cov.Complete = p.err == nil && ctx.Err() == nil && p.node.only == ""
	if !p.cov.Complete {
		return
	}
	after, err := p.node.size(ctx, p.db)
	if err != nil {
		return
	}
	before := p.cov.Total
	p.cov.Total = max(before, after)
	listed := p.cov.Read + p.cov.Vanished + p.cov.Denied
	if p.chains > 1 && listed < min(before, after)/2 {
		p.cov.Complete = false
		p.cov.Errors = append(p.cov.Errors, fmt.Errorf("%s: %d cursors found %d keys, but there were %d before and %d after: read it again with one chain",
			p.cov.Name, p.chains, listed, before, after))
	}
}
