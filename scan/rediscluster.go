package scan

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// clusterSlots is the number of hash slots of a Redis Cluster.
const clusterSlots = 16384

// A slotRange is a range of hash slots, both ends included.
type slotRange struct{ from, to int }

// clusterShards asks the cluster for its shards: CLUSTER SHARDS of Redis 7.0 or later, else CLUSTER SLOTS. Where
// neither may be used, the server asked is all that can be read.
func (t *topology) clusterShards(ctx context.Context) (shards []*shard, err error) {
	err = t.ask(ctx, func(ctx context.Context, n *node) error {
		shards, err = t.shardsSeenBy(ctx, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, s := range shards {
		for _, addr := range s.candidates {
			if !slices.Contains(t.seeds, addr) {
				t.seeds = append(t.seeds, addr)
			}
		}
	}
	return shards, nil
}

func (t *topology) shardsSeenBy(ctx context.Context, n *node) (shards []*shard, err error) {
	err = n.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		list, err := c.ClusterShards(ctx).Result()
		if err == nil {
			shards = t.fromShards(list, n.addr)
			return nil
		}
		if !isErrorReply(err) {
			return err
		}
		slots := redis.NewClusterSlotsCmd(ctx, "cluster", "slots") // for servers before 7.0
		if err = c.Process(ctx, slots); err == nil {
			shards = t.fromSlots(slots.Val(), n.addr)
			return nil
		}
		missing, ok := commandError(n.name, "cluster slots", err)
		if !ok {
			return err
		}
		shards = []*shard{t.alone(n, missing)}
		return nil
	})
	if err == nil && len(shards) == 0 {
		err = fmt.Errorf("%s: the cluster has no slots assigned", n.name)
	}
	return shards, err
}

// alone is the shard of a server that does not tell of others.
func (t *topology) alone(n *node, why error) *shard {
	n.only = fmt.Sprintf("only this server was read, not the rest of its cluster: %v", why)
	t.known[n.addr] = n
	return &shard{name: n.addr, candidates: []string{n.addr}, primary: n.addr, slots: []slotRange{{0, clusterSlots - 1}}}
}

func (t *topology) fromShards(list []redis.ClusterShard, asked string) []*shard {
	var shards []*shard
	for _, l := range list {
		if len(l.Slots) == 0 {
			continue // it holds no keys
		}
		s := &shard{}
		var replicas []string
		for _, m := range l.Nodes {
			port := m.Port
			if t.tls != nil && m.TLSPort != 0 {
				port = m.TLSPort
			}
			host := m.Endpoint
			if host == "" || host == "?" {
				host = m.IP
			}
			addr := reachable(host, port, asked)
			switch {
			case m.Role == "master" || m.Role == "primary":
				if s.primary == "" || m.Health == "online" { // after a failover the lost one is still listed
					s.primary = addr
				}
			case m.Health == "online" || m.Health == "":
				replicas = append(replicas, addr)
			}
		}
		for _, r := range l.Slots {
			s.slots = append(s.slots, slotRange{int(r.Start), int(r.End)})
		}
		shards = append(shards, t.finish(s, replicas))
	}
	return shards
}

func (t *topology) fromSlots(list []redis.ClusterSlot, asked string) []*shard {
	var shards []*shard
	byPrimary := make(map[string]*shard)
	replicas := make(map[*shard][]string)
	for _, l := range list {
		if len(l.Nodes) == 0 {
			continue
		}
		addrs := make([]string, len(l.Nodes))
		for i, m := range l.Nodes {
			host, port, _ := net.SplitHostPort(m.Addr)
			addrs[i] = reachable(host, number(port), asked)
		}
		s := byPrimary[addrs[0]]
		if s == nil {
			s = &shard{primary: addrs[0]}
			byPrimary[addrs[0]] = s
			replicas[s] = addrs[1:]
			shards = append(shards, s)
		}
		s.slots = append(s.slots, slotRange{l.Start, l.End})
	}
	for _, s := range shards {
		t.finish(s, replicas[s])
	}
	return shards
}

func (t *topology) finish(s *shard, replicas []string) *shard {
	s.candidates = t.order(s.primary, replicas)
	if s.primary == "" {
		s.candidates = replicas
	}
	var ranges []string
	for _, r := range s.slots {
		ranges = append(ranges, fmt.Sprintf("%d-%d", r.from, r.to))
	}
	s.name = "shard of slots " + strings.Join(ranges, ",")
	return s
}

// reachable is the address of a member of the cluster. A member that does not know its own host is at the host that
// was asked.
func reachable[P int64 | uint64](host string, port P, asked string) string {
	if host == "" || host == "?" {
		host, _, _ = net.SplitHostPort(asked)
	}
	return net.JoinHostPort(host, strconv.FormatInt(int64(port), 10))
}

// KeySlot is the hash slot of a key: CRC-16/XMODEM of it, or of what stands between its first { and the next }
// (Redis Cluster specification, "Key distribution model").
func KeySlot(name []byte) int {
	if open := bytes.IndexByte(name, '{'); open >= 0 {
		if end := bytes.IndexByte(name[open+1:], '}'); end > 0 {
			name = name[open+1 : open+1+end]
		}
	}
	var crc uint16
	for _, b := range name {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % clusterSlots
}

func (s *shard) holds(slot int) bool {
	return slices.ContainsFunc(s.slots, func(r slotRange) bool { return r.from <= slot && slot <= r.to })
}

// changes compares two looks at a cluster: how many slots are with another shard now, and how many shards have
// another primary, which was one of their replicas before.
func changes(before, after []*shard) (moved, promoted int) {
	owner := func(shards []*shard, slot int) *shard {
		i := slices.IndexFunc(shards, func(s *shard) bool { return s.holds(slot) })
		if i < 0 {
			return &shard{}
		}
		return shards[i]
	}
	failedOver := make(map[*shard]bool)
	for slot := range clusterSlots {
		was, is := owner(before, slot), owner(after, slot)
		switch {
		case was.primary == is.primary:
		case slices.Contains(was.candidates, is.primary):
			failedOver[was] = true
		default:
			moved++
		}
	}
	return moved, len(failedOver)
}
