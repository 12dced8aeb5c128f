package scan

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// A shard is one share of the keys, and the servers that hold it. A single server is a deployment of one shard.
type shard struct {
	name       string   // for humans
	candidates []string // addresses, the one to read first
	primary    string   // its address, if known
	slots      []slotRange
	node       *node // the candidate that answered; nil if err is set
	err        error // why none did
}

// A topology finds the shards of a deployment and the server of each that is to be read. It keeps the servers that
// answered once.
type topology struct {
	target target
	tls    *tls.Config
	opts   *Options
	known  map[string]*node
	seeds  []string // addresses to ask for the shards
}

func newTopology(t target, config *tls.Config, opts *Options) *topology {
	return &topology{target: t, tls: config, opts: opts, known: make(map[string]*node), seeds: t.addrs}
}

// locate lists the shards, each with its server. It fails when no shard has one.
func (t *topology) locate(ctx context.Context) ([]*shard, error) {
	shards, err := t.shards(ctx)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, t.opts.Servers)
	for _, s := range shards {
		slots <- struct{}{}
		wg.Go(func() {
			t.open(ctx, s)
			<-slots
		})
	}
	wg.Wait()
	var errs []error
	for _, s := range shards {
		if s.node != nil {
			t.known[s.node.addr] = s.node
		}
		if s.err != nil {
			errs = append(errs, s.err)
		}
	}
	if len(errs) == len(shards) {
		return nil, errors.Join(errs...)
	}
	return shards, nil
}

func (t *topology) shards(ctx context.Context) ([]*shard, error) {
	switch t.target.deployment {
	case cluster:
		return t.clusterShards(ctx)
	case sentinel:
		return t.sentinelShards(ctx)
	}
	addr := t.target.addrs[0]
	n := t.node(addr, false)
	if err := n.open(ctx); err != nil {
		return nil, err
	}
	t.known[addr] = n
	if n.info.Mode == "cluster" {
		t.target.deployment = cluster
		return t.clusterShards(ctx)
	}
	if t.opts.Replica && len(n.info.replicas) > 0 {
		return []*shard{{name: addr, candidates: t.order(addr, n.info.replicas)}}, nil
	}
	return []*shard{{name: addr, candidates: t.target.addrs, node: n}}, nil
}

// node returns the server at addr, as it is known or a new one.
func (t *topology) node(addr string, readOnly bool) *node {
	if n := t.known[addr]; n != nil && n.readOnly == readOnly {
		return n
	}
	n := newNode(&t.target, addr, t.tls, t.opts)
	n.readOnly = readOnly
	return n
}

// open finds the first candidate of s that answers. It only reads t.
func (t *topology) open(ctx context.Context, s *shard) {
	if s.node != nil {
		return
	}
	var errs []error
	for _, addr := range s.candidates {
		n := t.node(addr, t.target.deployment == cluster && addr != s.primary)
		err := n.open(ctx)
		if err == nil {
			s.node = n
			return
		}
		errs = append(errs, err)
	}
	s.err = fmt.Errorf("%s: %w", s.name, errors.Join(errs...))
}

// order puts replicas first: to read them does no harm to the primary. Options.Primary turns it round.
func (t *topology) order(primary string, replicas []string) []string {
	if t.opts.Primary {
		return append([]string{primary}, replicas...)
	}
	return append(replicas[:len(replicas):len(replicas)], primary)
}

// ask tries the seeds one after the other until do succeeds with one.
func (t *topology) ask(ctx context.Context, do func(context.Context, *node) error) error {
	var errs []error
	for _, addr := range t.seeds {
		n := t.node(addr, false)
		if err := do(ctx, n); err != nil {
			errs = append(errs, err)
			continue
		}
		return nil
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("none of %s can be asked: %w", strings.Join(t.seeds, ", "), errors.Join(errs...))
}
