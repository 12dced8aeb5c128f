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
	target target
	opts   Options
	nodes  []*node

	mu       sync.Mutex
	coverage []Coverage
	impact   Impact
}

var (
	_ Source  = (*Redis)(nil)
	_ Coverer = (*Redis)(nil)
)

// OpenRedis connects to the deployment at o.URL and asks it about itself. It sends PING and INFO only. Its errors are
// of type *URLError, *ServerError or *CommandError, or concern o; none repeats a password.
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
	r := &Redis{target: t, opts: o}
	n := newNode(&t, t.addrs[0], tlsConfig, &r.opts)
	if err := n.open(ctx); err != nil {
		return nil, err
	}
	r.nodes = []*node{n}
	return r, nil
}

// open connects and loads what the server tells about itself.
func (n *node) open(ctx context.Context) error {
	if err := n.connect(ctx); err != nil {
		return err
	}
	if err := n.loadInfo(ctx); err != nil {
		return err
	}
	if n.info.Role == "master" && n.info.Replicas > 0 {
		n.info.Warnings = append(n.info.Warnings, fmt.Sprintf(
			"%s is a primary with %d replicas: SCAN deletes expired keys that it meets there; a replica only hides them", n.name, n.info.Replicas))
	}
	return nil
}

// Keys implements Source. Expiries are absolute by the server's clock. A key that is there during the whole scan is
// yielded; one that comes or goes meanwhile may be. After an error, Coverage tells what was read of each part.
func (r *Redis) Keys(ctx context.Context, yield func(*Key) error) error {
	parts, err := r.parts(ctx)
	if err != nil {
		return err
	}
	s := sweep{opts: &r.opts, parts: parts}
	for _, p := range parts {
		s.total += p.cov.Total
	}
	err = s.run(ctx, yield)
	errs := []error{err}
	coverage := make([]Coverage, len(parts))
	for i, p := range parts {
		p.close(ctx, p.err)
		coverage[i] = p.cov
		if err == nil {
			errs = append(errs, p.cov.Errors...)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.coverage, r.impact = coverage, s.impact
	if err != nil {
		return err
	}
	return errors.Join(errs...)
}

// parts lists the databases to read, with their sizes.
func (r *Redis) parts(ctx context.Context) ([]*part, error) {
	var parts []*part
	for _, n := range r.nodes {
		dbs, err := r.databases(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, db := range slices.Sorted(maps.Keys(dbs)) {
			p := newPart(n, db)
			p.cov.Total = dbs[db]
			parts = append(parts, p)
		}
	}
	return parts, nil
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
func (r *Redis) String() string { return r.target.String() }

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
