package scan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Claims are keys in a Redis that several processes share, so that one of them does what only one should do. The
// connection is made when it is first needed, and again after a failure: the Redis may be down.
type Claims struct {
	opts Options

	mu   sync.Mutex
	live *Live
}

// NewClaims checks the address and connects to nothing.
func NewClaims(o Options) (*Claims, error) {
	if _, err := o.withDefaults(); err != nil {
		return nil, err
	}
	if _, err := parseTarget(o.URL); err != nil {
		return nil, err
	}
	return &Claims{opts: o}, nil
}

// Claim sets key for the time of window, unless somebody has (SET key NX PX window), and reports whether it did.
// The deadline of ctx holds for everything, connecting included.
func (c *Claims) Claim(ctx context.Context, key, holder string, window time.Duration) (bool, error) {
	var mine bool
	err := c.do(ctx, key, func(ctx context.Context, client *redis.Client) error {
		cmd := redis.NewStatusCmd(ctx, "set", key, holder, "nx", "px", max(window.Milliseconds(), 1))
		err := client.Process(ctx, cmd)
		mine = err == nil
		if errors.Is(err, redis.Nil) {
			return nil
		}
		return err
	})
	return mine, err
}

// Release gives up a claim that was made a moment ago, so that others can make it.
func (c *Claims) Release(ctx context.Context, key string) error {
	return c.do(ctx, key, func(ctx context.Context, client *redis.Client) error {
		return client.Del(ctx, key).Err()
	})
}

// Put stores a value for some time.
func (c *Claims) Put(ctx context.Context, key string, value []byte, life time.Duration) error {
	return c.do(ctx, key, func(ctx context.Context, client *redis.Client) error {
		return client.Set(ctx, key, value, life).Err()
	})
}

// Get reads what Put stored; nil if there is nothing.
func (c *Claims) Get(ctx context.Context, key string) ([]byte, error) {
	var value []byte
	err := c.do(ctx, key, func(ctx context.Context, client *redis.Client) error {
		v, err := client.Get(ctx, key).Bytes()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		value = v
		return err
	})
	return value, err
}

// Close ends the connection.
func (c *Claims) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live != nil {
		c.live.Close()
		c.live = nil
	}
}

// do runs one command on the server that holds key. After a failure the connection is given up: a failover may have
// moved the key.
func (c *Claims) do(ctx context.Context, key string, command func(context.Context, *redis.Client) error) error {
	l, err := c.connected(ctx)
	if err != nil {
		return err
	}
	s := l.server(key)
	if s == nil {
		return fmt.Errorf("%s: the shard of the key does not answer", l)
	}
	if err = command(ctx, s.client); err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == l {
		l.Close()
		c.live = nil
	}
	return s.node.explain(err)
}

func (c *Claims) connected(ctx context.Context) (*Live, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live != nil {
		return c.live, nil
	}
	l, err := OpenLive(ctx, c.opts)
	if err == nil {
		c.live = l
	}
	return l, err
}

// server is the one that holds a key; nil if none is known.
func (l *Live) server(key string) *liveServer {
	n := l.redis.shards[l.redis.shardOf([]byte(key))].node
	for _, s := range l.servers {
		if s.node == n {
			return s
		}
	}
	return nil
}
