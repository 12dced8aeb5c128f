package scan

import (
	"context"
	"errors"
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
	frequency := strings.Contains(r.nodes[0].info.Policy, "lfu")
	err := r.each(ctx, keys, func(ctx context.Context, pipe redis.Pipeliner, i int) func() {
		name := string(keys[i].Name)
		kind := pipe.Type(ctx, name)
		if frequency {
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
	method, _, err := r.nodes[0].chooseExpiry(ctx)
	if err != nil {
		return nil, err
	}
	expires := make([]int64, len(keys))
	var refused []error
	err = r.each(ctx, keys, func(ctx context.Context, pipe redis.Pipeliner, i int) func() {
		asked := time.Now()
		var clock *redis.TimeCmd
		if method.hasClock {
			clock = pipe.Time(ctx)
		}
		reply := redis.NewIntCmd(ctx, method.command, keys[i].Name)
		reply.SetFirstKeyPos(1)
		_ = pipe.Process(ctx, reply)
		return func() {
			if err := reply.Err(); err != nil {
				refused = append(refused, err)
				return
			}
			expires[i] = reply.Val()
			if expires[i] < 0 || method.command == "pexpiretime" {
				return
			}
			now := asked.Add(method.offset)
			if clock != nil {
				now = clock.Val()
			}
			expires[i] += now.UnixMilli()
		}
	})
	if err == nil {
		err = errors.Join(refused...)
	}
	return expires, err
}

// each runs pipelines over the keys, one database after the other. ask queues the commands for keys[i] and returns
// what to do when they were answered. Error replies are left to that; only a failure to talk ends it.
func (r *Redis) each(
	ctx context.Context, keys []KeyRef, ask func(context.Context, redis.Pipeliner, int) func(),
) error {
	byDB := make(map[int][]int)
	for i, k := range keys {
		byDB[k.DB] = append(byDB[k.DB], i)
	}
	for db, indexes := range byDB {
		err := r.withKeys(ctx, db, func(ctx context.Context, c redis.Cmdable) error {
			for from := 0; from < len(indexes); from += lookBatch {
				if err := lookUp(ctx, c, indexes[from:min(from+lookBatch, len(indexes))], ask); err != nil {
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

func lookUp(
	ctx context.Context, c redis.Cmdable, indexes []int, ask func(context.Context, redis.Pipeliner, int) func(),
) error {
	pipe := c.Pipeline()
	answered := make([]func(), len(indexes))
	for i, index := range indexes {
		answered[i] = ask(ctx, pipe, index)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isErrorReply(err) {
		return err
	}
	for _, f := range answered {
		f()
	}
	return nil
}

// withKeys runs do with a client that finds the keys of one database, wherever they are.
func (r *Redis) withKeys(ctx context.Context, db int, do func(context.Context, redis.Cmdable) error) error {
	return r.nodes[0].use(ctx, db, func(ctx context.Context, c *redis.Client) error { return do(ctx, c) })
}

// Info asks the deployment about itself. For several servers, sizes and counters are sums, and the rest is that of
// the first.
func (r *Redis) Info(ctx context.Context) (Info, error) {
	for _, n := range r.nodes {
		if err := n.loadInfo(ctx); err != nil {
			return Info{}, err
		}
	}
	return r.info(), nil
}

func (r *Redis) info() Info {
	sum := r.nodes[0].info
	for _, n := range r.nodes[1:] {
		sum.MaxMemory += n.info.MaxMemory
		sum.UsedMemory += n.info.UsedMemory
		sum.Hits += n.info.Hits
		sum.Misses += n.info.Misses
		sum.Evicted += n.info.Evicted
		sum.Expired += n.info.Expired
		sum.Missing = append(sum.Missing, n.info.Missing...)
		sum.Warnings = append(sum.Warnings, n.info.Warnings...)
	}
	return sum
}
