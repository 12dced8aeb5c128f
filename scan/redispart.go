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

// A part is one database of one server, and the account of its walk. The walking goroutines touch only node, pacer,
// fields and refusal; the rest belongs to the goroutine that calls yield.
type part struct {
	node  *node
	db    int
	slots []slotRange // of its shard
	pacer *pacer

	sampling sampling

	err      error // why the walk ended early
	cov      Coverage
	pages    uint64
	hits     uint64
	immortal uint64 // keys yielded without an expiry
	chains   int
	fields   fieldAccount
	refusal  atomic.Pointer[string] // the first refusal to tell an expiry
	slack    atomic.Int64           // how many ms relative expiries may be early, at most

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
	p := &part{
		node: n, db: db, seed: maphash.MakeSeed(), heads: make(map[uint64]struct{}),
		cov: Coverage{Name: name, Sampled: 1},
	}
	p.fields.expected = n.info.DBs[db].FieldExpires
	return p
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
		missing, ok := commandError(p.node.name, "dbsize", err)
		if !ok {
			return err
		}
		p.cov.Notes = append(p.cov.Notes, "the number of keys is unknown: "+missing.Error())
	}
	p.cov.Total = before
	method, notes, err := p.node.chooseExpiry(ctx)
	if err != nil {
		return err
	}
	p.cov.Notes = append(p.cov.Notes, notes...)
	routes, err := p.routes(before)
	if err != nil {
		return err
	}
	err = p.walkRoutes(ctx, method, routes, out)
	if errors.Is(err, errUndivided) {
		p.cov.Notes = append(p.cov.Notes, errForeignCursors.Error()+": one cursor was used")
		routes = []route{wholeRoute{}}
		err = p.walkRoutes(ctx, method, routes, out)
	}
	p.cov.Sampled = p.sampled(routes)
	return err
}

// routes says how the part is walked: a sample of it, in several chains, or by one.
func (p *part) routes(keys uint64) ([]route, error) {
	n := p.node.opts.Chains
	if n == 0 {
		n = p.pacer.chains()
	}
	routes, err := p.sampleRoutes(p.sampling, keys, n)
	if routes != nil || err != nil {
		p.cov.Sampled = p.sampling.share
		return routes, err
	}
	if n == 1 || keys < minChainedKeys || !p.node.ordered() {
		return []route{wholeRoute{}}, nil
	}
	routes = make([]route, n)
	for i := range routes {
		routes[i] = newDivisionRoute(i, n, keys)
	}
	return routes, nil
}

// errUndivided says that a divided walk was given up before it had sent anything.
var errUndivided = errors.New("the walk cannot be divided")

// walkRoutes runs a chain along each route, and sends their last pages when all are through.
func (p *part) walkRoutes(ctx context.Context, m expiryMethod, routes []route, out chan<- *page) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.chains = len(routes)
	chains := make([]*chain, len(routes))
	errs := make([]error, len(routes))
	var wg sync.WaitGroup
	gate := newGate(len(routes))
	for i, r := range routes {
		c := newChain(p, m, r)
		if c.divided {
			c.gate = gate
		}
		chains[i] = c
		wg.Go(func() {
			if errs[i] = c.run(ctx, out); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := firstCause(errs); err != nil {
		if errors.Is(err, errForeignCursors) && gate.missing.Load() > 0 && chains[0].divided {
			return errUndivided
		}
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

// withTTL is the number of keys yielded with an expiry.
func (p *part) withTTL() uint64 { return p.cov.Read - p.immortal }

// lose accounts for keys that moved to a shard which is not in sight.
func (p *part) lose(n int) {
	if n == 0 {
		return
	}
	p.cov.Vanished += uint64(n)
	p.cov.Notes = append(p.cov.Notes, fmt.Sprintf("%s: %d keys belong to another shard, which was not read", p.cov.Name, n))
}

// endedBy is the error that ended the walk, and where.
func (p *part) endedBy() error {
	if p.cov.Read == 0 || errors.Is(p.err, context.Canceled) {
		return p.err
	}
	return fmt.Errorf("ended after %d of about %d keys: %w", p.cov.Read, p.cov.Total, p.err)
}

// close completes the account after the walk.
func (p *part) close(ctx context.Context) {
	if p.err != nil {
		p.cov.Errors = append(p.cov.Errors, p.endedBy())
	}
	if p.node == nil {
		return
	}
	if p.node.only != "" {
		p.cov.Notes = append(p.cov.Notes, p.node.only)
	}
	if text := p.refusal.Load(); text != nil {
		p.cov.Notes = append(p.cov.Notes, fmt.Sprintf("%s: the expiry of %d keys was refused, first: %s", p.cov.Name, p.cov.Denied, *text))
	}
	p.cov.Notes = append(p.cov.Notes, p.fields.notes(p.cov.Sampled < 1)...)
	if expires := p.node.info.DBs[p.db].Expires; p.node.info.Kind == "keydb" && p.immortal > 0 && expires > p.withTTL() {
		p.cov.Notes = append(p.cov.Notes, fmt.Sprintf("KeyDB counts %d keys with an expiry, %d were read: it can expire single members of a key (EXPIREMEMBER), "+
			"which only an RDB file shows; such keys count as keys without a TTL", expires, p.withTTL()))
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
	if p.chains > 1 && p.cov.Sampled == 1 && listed < min(before, after)/2 {
		p.cov.Complete = false
		p.cov.Errors = append(p.cov.Errors, fmt.Errorf("%s: %d cursors found %d keys, but there were %d before and %d after: read it again with one chain",
			p.cov.Name, p.chains, listed, before, after))
	}
}
