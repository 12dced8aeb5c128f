package scan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Redis is a live deployment of Redis or of a server that speaks its protocol. Its methods may be called one after
// the other, in any order.
type Redis struct {
	opts Options
	topo *topology
	// fresh is true until the shards were used: they are looked up again before each later scan.
	fresh  bool
	shards []*shard

	mu       sync.Mutex
	coverage []Coverage
	impact   Impact
}

var (
	_ Source  = (*Redis)(nil)
	_ Coverer = (*Redis)(nil)
)

// OpenRedis connects to the deployment at o.URL and asks it about itself. It sends only PING, INFO and, to a cluster or
// to sentinels, the question where the keys are. Its errors are of type *URLError, *ServerError or *CommandError, or
// concern o; none repeats a password.
func OpenRedis(ctx context.Context, o Options) (*Redis, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t, err := parseTarget(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Password != "" {
		t.username, t.password = o.Username, o.Password
	}
	o.URL, o.Password = "", "" // not needed any more
	tlsConfig, err := o.TLS.config(&t)
	if err != nil {
		return nil, err
	}
	r := &Redis{opts: o, fresh: true}
	r.topo = newTopology(t, tlsConfig, &r.opts)
	if r.shards, err = r.topo.locate(ctx); err != nil {
		return nil, err
	}
	if db := r.topo.target.db; r.topo.target.deployment == cluster && db != 0 {
		return nil, &ServerError{Addr: t.addrs[0], Problem: ProblemDatabase}
	}
	return r, nil
}

// refresh looks the shards up again if they were used before: they may have moved meanwhile.
func (r *Redis) refresh(ctx context.Context) error {
	if r.fresh || r.topo.target.deployment == standalone {
		r.fresh = false
		return nil
	}
	shards, err := r.topo.locate(ctx)
	if err == nil {
		r.shards = shards
	}
	return err
}

// Keys implements Source. Expiries are absolute by the server's clock. A key that is there during the whole scan is
// yielded; one that comes or goes meanwhile may be. When one server of several fails, the others are still read, and
// the error names the failed ones. Coverage tells what was read of each part.
func (r *Redis) Keys(ctx context.Context, yield func(*Key) error) error {
	if err := r.refresh(ctx); err != nil {
		return err
	}
	parts, err := r.parts(ctx)
	if err != nil {
		return err
	}
	s := sweep{opts: &r.opts, parts: parts}
	for _, p := range parts {
		s.total += p.cov.Total
	}
	sampling := r.opts.sampling(s.total)
	if sampling.share <= maxSample {
		s.total = uint64(sampling.share * float64(s.total))
	}
	for _, p := range parts {
		p.sampling = sampling
	}
	err = s.run(ctx, yield)
	if err == nil {
		err = r.follow(ctx, &s, yield)
	}
	coverage := make([]Coverage, len(parts))
	errs := make([]error, 0, len(parts))
	for i, p := range parts {
		p.close(ctx)
		coverage[i] = p.cov
		errs = append(errs, p.cov.Errors...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.coverage, r.impact = coverage, s.impact
	if err != nil {
		return err
	}
	return errors.Join(errs...)
}

// parts lists the databases to read, with their sizes. A shard that cannot be read is a part with an error.
func (r *Redis) parts(ctx context.Context) ([]*part, error) {
	var parts []*part
	for _, s := range r.shards {
		dbs, err := r.shardDatabases(ctx, s)
		if err != nil && (len(r.shards) == 1 || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			parts = append(parts, &part{err: err, cov: Coverage{Name: s.name, Sampled: 1}})
			continue
		}
		for _, db := range slices.Sorted(maps.Keys(dbs)) {
			p := newPart(s.node, db)
			p.cov.Total = dbs[db]
			p.slots = s.slots
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// shardDatabases returns the sizes of a shard's databases. If its server is lost since it was chosen, another one of
// the shard is.
func (r *Redis) shardDatabases(ctx context.Context, s *shard) (map[int]uint64, error) {
	if s.err != nil {
		return nil, s.err
	}
	dbs, err := r.databases(ctx, s.node)
	if err == nil || len(s.candidates) == 1 || ctx.Err() != nil {
		return dbs, err
	}
	s.node = nil
	if r.topo.open(ctx, s); s.err != nil {
		return nil, s.err
	}
	return r.databases(ctx, s.node)
}

// follow yields the keys that changed their shard while they were read, and notes what else moved.
func (r *Redis) follow(ctx context.Context, s *sweep, yield func(*Key) error) error {
	if r.topo.target.deployment != cluster || len(r.shards) < 2 {
		for _, p := range s.parts {
			p.lose(len(p.moved))
		}
		return nil
	}
	before := r.shards
	if err := r.refresh(ctx); err != nil {
		return nil // the coverage of the shards tells already
	}
	var notes []string
	moved, promoted := changes(before, r.shards)
	if moved > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d slots changed their shard during the scan: keys of these may be missing or counted twice", moved, clusterSlots))
	}
	if promoted > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d shards changed their primary during the scan (a failover): the last writes before it may be missing", promoted, len(before)))
	}
	for _, p := range s.parts {
		p.cov.Notes = append(p.cov.Notes, notes...)
		if err := r.followPart(ctx, p, yield); err != nil {
			return err
		}
	}
	return nil
}

// followPart asks where they are now for the keys that left the part between being listed and being asked for.
func (r *Redis) followPart(ctx context.Context, p *part, yield func(*Key) error) error {
	if len(p.moved) == 0 {
		return nil
	}
	p.cov.Notes = append(p.cov.Notes, fmt.Sprintf("%s: %d keys moved to another shard while they were read", p.cov.Name, len(p.moved)))
	expires, err := r.Reread(ctx, p.moved)
	if err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("keys that moved to another shard: %w", err))
		return ctx.Err()
	}
	for i, ref := range p.moved {
		if expires[i] == Gone {
			p.cov.Vanished++
			continue
		}
		p.cov.Read++
		if err := yield(&Key{Name: ref.Name, DB: ref.DB, ExpireMS: expires[i]}); err != nil {
			return err
		}
	}
	return nil
}

// Size implements Source by DBSIZE and INFO keyspace. Both count keys that expired but are not yet deleted.
func (r *Redis) Size(ctx context.Context) (uint64, error) {
	parts, err := r.parts(ctx)
	var sum uint64
	for _, p := range parts {
		sum += p.cov.Total
	}
	return sum, err
}

// String implements Source: the address without user and password.
func (r *Redis) String() string { return r.topo.target.String() }

// Coverage implements Coverer.
func (r *Redis) Coverage() []Coverage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.coverage)
}

// Impact is what the last call of Keys cost the server.
func (r *Redis) Impact() Impact {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.impact
}
