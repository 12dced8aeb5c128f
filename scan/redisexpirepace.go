package scan

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// minGuardedChanges is the number of changes below which they are over before a guard could judge.
const minGuardedChanges = 5_000

// An expirePace keeps the changes on one server gentle: pages of what the server does in a quarter of a millisecond,
// rests in between, and a guard that feels its pulse.
type expirePace struct {
	pacer *pacer
	guard guard
	done  sync.WaitGroup
}

// newExpirePace starts the guard, if there are enough keys for one. It ends with ctx.
func newExpirePace(ctx context.Context, n *node, keys uint64) *expirePace {
	o := n.opts
	p := &expirePace{pacer: newPacer(o, n.rtt, time.Now)}
	p.guard = guard{node: n, pacer: p.pacer}
	if keys >= minGuardedChanges && !o.Fast {
		p.guard.settle(ctx)
		p.done.Go(func() { p.feel(ctx) })
	}
	return p
}

// feel takes the pulse until ctx ends or the server does not answer, which the changes will report.
func (p *expirePace) feel(ctx context.Context) {
	_ = p.guard.node.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		for {
			if err := sleep(ctx, guardEvery); err != nil {
				return err
			}
			sent := time.Now()
			if err := p.guard.node.ping(ctx, c); err != nil {
				return err
			}
			p.guard.add(time.Since(sent))
		}
	})
}

// wait returns when the guard has ended.
func (p *expirePace) wait() { p.done.Wait() }

// account adds what the changes cost; only after wait.
func (p *expirePace) account(m *Impact) {
	p.pacer.mu.Lock()
	defer p.pacer.mu.Unlock()
	m.Keys += p.pacer.keys
	m.Pages += p.pacer.pages
	m.Rested += p.pacer.rested
	m.Backoffs += p.pacer.backoffs
	m.PingIdle = max(m.PingIdle, p.guard.rest)
	m.PingScan = max(m.PingScan, median(p.guard.times))
}
