package scan

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A sweep is one walk over all parts of a deployment.
type sweep struct {
	opts   *Options
	parts  []*part
	out    chan *page
	total  uint64
	read   uint64
	impact Impact
	key    Key // the one that is yielded
}

// A server groups the parts of one node: they are walked one after the other.
type server struct {
	node  *node
	pacer *pacer
	guard guard
	parts []*part
	time  time.Duration
	calls uint64 // SCAN
	usec  uint64
}

// run walks all servers, a few at once, and yields what they send. It returns the error of yield or of ctx; what
// failed on a server is in the coverage of its parts.
func (s *sweep) run(ctx context.Context, yield func(*Key) error) error {
	walking, cancel := context.WithCancel(ctx)
	defer cancel()
	servers := s.servers()
	s.out = make(chan *page, len(servers)*pagesPerChain)
	began := time.Now()
	go func() {
		defer close(s.out)
		s.walkServers(walking, servers)
	}()
	var failed error
	for g := range s.out {
		if failed == nil {
			if failed = s.yieldPage(ctx, g, yield); failed != nil {
				cancel()
			}
		}
		g.home <- g
	}
	s.impact.Duration = time.Since(began)
	s.account(servers)
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

func (s *sweep) servers() []*server {
	var list []*server
	index := make(map[*node]*server)
	for _, p := range s.parts {
		if p.err != nil {
			continue
		}
		v := index[p.node]
		if v == nil {
			v = &server{node: p.node, pacer: newPacer(s.opts, p.node.rtt, time.Now)}
			v.guard = guard{node: p.node, pacer: v.pacer, passive: s.opts.Fast}
			index[p.node] = v
			list = append(list, v)
		}
		p.pacer = v.pacer
		v.parts = append(v.parts, p)
	}
	return list
}

func (s *sweep) walkServers(ctx context.Context, servers []*server) {
	slots := make(chan struct{}, s.opts.Servers)
	var wg sync.WaitGroup
	for _, v := range servers {
		slots <- struct{}{}
		wg.Go(func() {
			v.walk(ctx, s.out)
			<-slots
		})
	}
	wg.Wait()
}

// walk reads the parts of one server under the eye of its guard.
func (v *server) walk(ctx context.Context, out chan<- *page) {
	guarded, stop := context.WithCancel(ctx)
	calls, usec := v.node.usage(ctx)
	var wg sync.WaitGroup
	if v.keys() >= minGuardedKeys {
		v.guard.settle(ctx)
		v.guard.usecBefore = usec
		wg.Go(func() { v.guard.run(guarded) })
	}
	began := time.Now()
	for _, p := range v.parts {
		p.err = p.walk(ctx, out)
	}
	callsAfter, usecAfter := v.node.usage(ctx)
	v.calls, v.usec = callsAfter-calls, usecAfter-usec
	v.time = time.Since(began)
	stop()
	wg.Wait()
}

func (v *server) keys() (sum uint64) {
	for _, p := range v.parts {
		sum += p.cov.Total
	}
	return sum
}

// usage is the server's own account of the commands of a scan; zeros if it does not tell.
func (n *node) usage(ctx context.Context) (calls, usec uint64) {
	_ = n.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		calls, usec = usage(ctx, c)
		return nil
	})
	return calls, usec
}

func usage(ctx context.Context, c *redis.Client) (calls, usec uint64) {
	text := c.Info(ctx, "commandstats").Val()
	calls, _ = commandUsage(text, "scan")
	_, usec = commandUsage(text, "scan", "pexpiretime", "pttl", "time")
	return calls, usec
}

func (s *sweep) yieldPage(ctx context.Context, g *page, yield func(*Key) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p := g.part
	p.pages++
	p.hits += g.fieldHits
	s.impact.PageKeys = g.count
	s.counted(g)
	for i, name := range g.names {
		expire := g.expireMS[i]
		switch {
		case p.duplicate(g, name):
			p.cov.Duplicates++
			continue
		case expire == Gone:
			p.cov.Vanished++
			continue
		case expire == denied:
			p.cov.Denied++
			continue
		case expire == moved:
			p.moved = append(p.moved, KeyRef{Name: append([]byte(nil), name...), DB: p.db})
			continue
		}
		p.cov.Read++
		p.hits++
		s.read++
		if expire == NoExpiry {
			p.immortal++
		}
		s.key = Key{Name: name, DB: p.db, ExpireMS: expire}
		if ms, found := g.fieldMS[i]; found {
			s.key.FieldExpireMS, s.key.Type = ms, "hash"
		}
		if err := yield(&s.key); err != nil {
			return err
		}
	}
	if s.opts.Progress != nil {
		s.opts.Progress(s.read, max(s.total, s.read))
	}
	return nil
}

// counted tells what a page has added to the server's counts: a hit for each key that is there (and for each look at its fields), a miss for each that
// is not.
func (s *sweep) counted(g *page) {
	if s.opts.Counted == nil {
		return
	}
	hits, misses := g.fieldHits, uint64(0)
	for i := range g.names {
		switch g.expireMS[i] {
		case Gone:
			misses++
		case denied, moved:
		default:
			hits++
		}
	}
	s.opts.Counted(hits, misses)
}

// account sums up what the sweep cost.
func (s *sweep) account(servers []*server) {
	m := &s.impact
	var work, usec time.Duration
	var calls uint64
	for _, v := range servers {
		work += v.time
		m.Rested += v.pacer.rested
		m.Backoffs += v.pacer.backoffs
		m.PingIdle = max(m.PingIdle, v.guard.rest)
		m.PingScan = max(m.PingScan, median(v.guard.times))
		m.ServerPerPage += v.pacer.total
		calls += v.calls
		usec += time.Duration(v.usec) * time.Microsecond
		for _, p := range v.parts {
			m.Keys += p.cov.Read
			m.Pages += p.pages
			m.HitsAdded += p.hits
			m.Chains = max(m.Chains, p.chains)
		}
		m.Warnings = append(m.Warnings, v.node.info.Warnings...)
	}
	switch {
	case calls > 0:
		m.ServerPerPage, m.ByServer = usec/time.Duration(calls), true
	case m.Pages > 0:
		m.ServerPerPage /= time.Duration(m.Pages)
	}
	if work > 0 {
		m.RestShare = min(1, float64(m.Rested)/float64(work))
	}
}
