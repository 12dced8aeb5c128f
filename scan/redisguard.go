package scan

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	guardEvery   = 20 * time.Millisecond
	guardWindow  = 16   // PINGs that decide together
	guardSamples = 4096 // PINGs kept for the report
	// calibrateEvery is the number of PINGs between two looks at the server's own account.
	calibrateEvery = 10
	// guardNoise is the slowness that may come from timers and other processes.
	guardNoise = 200 * time.Microsecond
	// minGuardedKeys is the size below which a scan is over before a guard could judge.
	minGuardedKeys = 50_000

	restPings = 12
	restEvery = 5 * time.Millisecond
)

// A guard feels the server's pulse on a connection of its own while it is scanned, and makes the pacer rest more when
// PINGs take longer than twice their time at rest.
type guard struct {
	node    *node
	pacer   *pacer
	passive bool          // measure only
	rest    time.Duration // median PING before the scan
	times   []time.Duration
	count   int

	usecBefore uint64 // the server's account when the scan began
}

// settle measures PINGs before the scan, with pauses between them like those of run: a connection in steady use
// answers faster.
func (g *guard) settle(ctx context.Context) {
	if g.passive {
		g.rest = g.node.rtt
		return
	}
	var times []time.Duration
	_ = g.node.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		for range restPings {
			if err := sleep(ctx, restEvery); err != nil {
				return err
			}
			sent := time.Now()
			if err := g.node.ping(ctx, c); err != nil {
				return err
			}
			times = append(times, time.Since(sent))
		}
		return nil
	})
	g.rest = median(times)
}

// run returns when ctx ends or the server stops answering: that is for the scan itself to report.
func (g *guard) run(ctx context.Context) {
	_ = g.node.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		for {
			if err := sleep(ctx, guardEvery); err != nil {
				return err
			}
			sent := time.Now()
			if err := g.node.ping(ctx, c); err != nil {
				return err
			}
			g.add(time.Since(sent))
			if g.count%calibrateEvery == 0 {
				g.calibrate(ctx, c)
			}
		}
	})
}

// calibrate tells the pacer what the scan cost by the server's own account.
func (g *guard) calibrate(ctx context.Context, c *redis.Client) {
	if _, usec := usage(ctx, c); usec > g.usecBefore {
		g.pacer.calibrate(usec - g.usecBefore)
	}
}

func (g *guard) add(d time.Duration) {
	if len(g.times) < guardSamples {
		g.times = append(g.times, d)
	} else {
		g.times[g.count%guardSamples] = d
	}
	g.count++
	if g.passive || g.count%guardWindow != 0 {
		return
	}
	end := (g.count-1)%guardSamples + 1
	now, rest := median(g.times[end-guardWindow:end]), g.rest
	switch {
	case now > 2*rest+guardNoise:
		g.pacer.slower()
	case now < 3*rest/2+guardNoise:
		g.pacer.faster()
	}
}
