package scan

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// lookBatch is the number of keys that Inspect and Reread ask for at once.
const lookBatch = 100

// Detail is what Inspect found out about one key. Neither TYPE nor OBJECT counts as an access to it.
type Detail struct {
	KeyRef
	// Type is the Redis name of the type; "none" if the key is gone, "" if the server refused.
	Type string
	// Idle is the time since the last access; not kept under an LFU policy.
	Idle    time.Duration
	HasIdle bool
	// Freq is the logarithmic access counter; kept under an LFU policy only.
	Freq    uint8
	HasFreq bool
}

// Inspect asks for type and idle time (or access frequency, as the policy of the server allows) of a few keys: two
// commands a key, meant for some hundred keys, not for all. What is refused is left out of the details; an error
// means that the server could not be asked. The answer is in the order of keys.
func (r *Redis) Inspect(ctx context.Context, keys []KeyRef) ([]Detail, error) {
	details := make([]Detail, len(keys))
	for i, k := range keys {
		details[i].KeyRef = k
	}
	err := r.each(ctx, keys, func(n *node, pipe redis.Pipeliner, i int) func() {
		name := string(keys[i].Name)
		kind := pipe.Type(ctx, name)
		if strings.Contains(n.info.Policy, "lfu") {
			freq := pipe.ObjectFreq(ctx, name)
			return func() {
				details[i].setType(kind)
				details[i].setFreq(freq)
			}
		}
		idle := pipe.ObjectIdleTime(ctx, name)
		return func() {
			details[i].setType(kind)
			details[i].setIdle(idle)
		}
	})
	return details, err
}

func (d *Detail) setType(reply *redis.StatusCmd) {
	if reply.Err() == nil {
		d.Type = reply.Val()
	}
}

func (d *Detail) setIdle(reply *redis.DurationCmd) {
	if reply.Err() == nil {
		d.Idle, d.HasIdle = reply.Val(), true
	}
}

func (d *Detail) setFreq(reply *redis.IntCmd) {
	if reply.Err() == nil {
		d.Freq, d.HasFreq = uint8(reply.Val()), true
	}
}

// Reread asks again when each key expires: Unix ms, NoExpiry, or Gone for a key that does not exist any more. The
// answer is in the order of keys. A refusal to tell one key's expiry is an error.
func (r *Redis) Reread(ctx context.Context, keys []KeyRef) ([]int64, error) {
	methods := make(map[*node]expiryMethod)
	for _, s := range r.shards {
		if s.err != nil {
			continue
		}
		m, _, err := s.node.chooseExpiry(ctx)
		if err != nil {
			return nil, err
		}
		methods[s.node] = m
	}
	expires := make([]int64, len(keys))
	var refused []error
	err := r.each(ctx, keys, func(n *node, pipe redis.Pipeliner, i int) func() {
		clock := methods[n].clock(ctx, pipe)
		reply := redis.NewIntCmd(ctx, methods[n].command, keys[i].Name)
		_ = pipe.Process(ctx, reply) // queues only
		return func() {
			if err := reply.Err(); err != nil {
				refused = append(refused, err)
				return
			}
			if expires[i] = reply.Val(); expires[i] >= 0 {
				expires[i] += clock()
			}
		}
	})
	if err == nil {
		err = errors.Join(refused...)
	}
	return expires, err
}

// clock queues what is needed to make an answer absolute, and returns how to: a function that gives the Unix ms to
// add, once the pipeline was run.
func (m expiryMethod) clock(ctx context.Context, pipe redis.Pipeliner) func() int64 {
	switch {
	case m.command != "pttl":
		return func() int64 { return 0 }
	case m.hasClock:
		now := pipe.Time(ctx)
		return func() int64 { return now.Val().UnixMilli() }
	}
	asked := time.Now().Add(m.offset).UnixMilli()
	return func() int64 { return asked }
}

// An asker queues the commands about keys[i] for a server and returns what to do when they were answered.
type asker func(n *node, pipe redis.Pipeliner, i int) func()

// each runs pipelines over the keys, one database of one server after the other. Error replies are left to ask; only
// a failure to talk ends it.
func (r *Redis) each(ctx context.Context, keys []KeyRef, ask asker) error {
	type place struct {
		shard, db int
	}
	places := make(map[place][]int)
	for i, k := range keys {
		at := place{r.shardOf(k.Name), k.DB}
		places[at] = append(places[at], i)
	}
	for at, indexes := range places {
		s := r.shards[at.shard]
		if s.err != nil {
			return s.err
		}
		err := s.node.use(ctx, at.db, func(ctx context.Context, c *redis.Client) error {
			for batch := range slices.Chunk(indexes, lookBatch) {
				if err := lookUp(ctx, s.node, c, batch, ask); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shardOf is the index of the shard that holds a key.
func (r *Redis) shardOf(name []byte) int {
	if len(r.shards) == 1 {
		return 0
	}
	slot := KeySlot(name)
	return max(0, slices.IndexFunc(r.shards, func(s *shard) bool { return s.holds(slot) }))
}

func lookUp(ctx context.Context, n *node, c *redis.Client, indexes []int, ask asker) error {
	pipe := c.Pipeline()
	answered := make([]func(), len(indexes))
	for i, index := range indexes {
		answered[i] = ask(n, pipe, index)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isErrorReply(err) {
		return err
	}
	for _, f := range answered {
		f()
	}
	return nil
}

// Info asks the deployment about itself. For several servers, sizes and counters are sums, and the rest is that of
// the first one that answers.
func (r *Redis) Info(ctx context.Context) (Info, error) {
	var sum *Info
	for _, s := range r.shards {
		if s.err != nil {
			continue
		}
		if err := s.node.open(ctx); err != nil {
			return Info{}, err
		}
		if sum == nil {
			first := s.node.info
			sum = &first
			continue
		}
		sum.add(&s.node.info)
	}
	return *sum, nil
}

func (i *Info) add(o *Info) {
	i.MaxMemory += o.MaxMemory
	i.UsedMemory += o.UsedMemory
	i.Hits += o.Hits
	i.Misses += o.Misses
	i.Evicted += o.Evicted
	i.Expired += o.Expired
	i.Missing = append(i.Missing, o.Missing...)
	i.Warnings = append(i.Warnings, o.Warnings...)
	dbs := maps.Clone(i.DBs)
	for db, d := range o.DBs {
		dbs[db] = DBInfo{
			Keys: dbs[db].Keys + d.Keys, Expires: dbs[db].Expires + d.Expires,
			FieldExpires: dbs[db].FieldExpires + d.FieldExpires,
		}
	}
	i.DBs = dbs
}
