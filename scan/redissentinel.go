package scan

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// sentinelShards asks the sentinels, one after the other, for the master and its replicas.
func (t *topology) sentinelShards(ctx context.Context) ([]*shard, error) {
	s := &shard{name: t.target.master}
	err := t.ask(ctx, func(ctx context.Context, n *node) error {
		// A sentinel has a password of its own, mostly none.
		n.username, n.password = t.opts.SentinelUsername, t.opts.SentinelPassword
		err := t.askSentinel(ctx, n, s)
		var failed *ServerError
		if n.password == "" && errors.As(err, &failed) && failed.Problem == ProblemNeedsPassword {
			n.username, n.password = t.target.username, t.target.password
			err = t.askSentinel(ctx, n, s)
		}
		return err
	})
	return []*shard{s}, err
}

func (t *topology) askSentinel(ctx context.Context, n *node, s *shard) error {
	return n.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		addr := redis.NewStringSliceCmd(ctx, "sentinel", "get-master-addr-by-name", t.target.master)
		if err := c.Process(ctx, addr); err != nil {
			if errors.Is(err, redis.Nil) {
				return &ServerError{Addr: n.name, Problem: ProblemMaster}
			}
			if missing, ok := commandError(n.name, "sentinel get-master-addr-by-name", err); ok {
				return missing
			}
			return err
		}
		if len(addr.Val()) != 2 {
			return &ServerError{Addr: n.name, Problem: ProblemMaster}
		}
		s.primary = net.JoinHostPort(addr.Val()[0], addr.Val()[1])
		replicas := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "replicas", t.target.master)
		if err := c.Process(ctx, replicas); err != nil && !isErrorReply(err) {
			return err
		}
		s.candidates = t.order(s.primary, healthyReplicas(replicas.Val()))
		return nil
	})
}

// healthyReplicas are those that are up and in step with the master.
func healthyReplicas(list []map[string]string) []string {
	var addrs []string
	for _, r := range list {
		down := strings.Contains(r["flags"], "down") || strings.Contains(r["flags"], "disconnected")
		if !down && r["master-link-status"] == "ok" {
			addrs = append(addrs, net.JoinHostPort(r["ip"], r["port"]))
		}
	}
	return addrs
}
