package scan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Change moves the expiry of one key from Old to New, both in Unix milliseconds by the server's clock.
type Change struct {
	KeyRef
	Old, New int64
}

// An Outcome says what became of one Change.
type Outcome byte

// The outcomes. Only Written means that the key now has the new expiry: it was set, or it was there already.
const (
	Unreached  Outcome = 'u' // its server was not asked, or did not answer
	Written    Outcome = 'w'
	Changed    Outcome = 'c' // the expiry is not the old one any more: the key was written meanwhile
	Vanished   Outcome = 'g' // the key is gone
	Persistent Outcome = 'p' // the key has no expiry any more
	Late       Outcome = 'l' // the new expiry is past: setting it would delete the key
	Refused    Outcome = 'd' // the user may not write this key
)

// again is the outcome of a key that is to be tried again. It never leaves the package.
const again Outcome = 0

// An Expirer changes the expiries of keys on the primaries of a Redis. Each change compares before it sets, in one
// atomic step: a key whose expiry is not the old one any more is left alone.
type Expirer struct {
	redis *Redis
	links map[place]*expireLink
	paces map[*node]*expirePace
	keys  uint64
	stop  context.CancelFunc
	ctx   context.Context // of the guards
}

// A place is one database of one server.
type place struct {
	node *node
	db   int
}

// Expirer prepares to change about so many keys. The Redis must have been opened with Options.Primary. A server alone
// that is a replica is an error; in a deployment of several, changes of keys whose primary does not answer are
// Unreached.
func (r *Redis) Expirer(ctx context.Context, keys uint64) (*Expirer, error) {
	if !r.opts.Primary {
		return nil, errors.New("expiries are only written to primaries: open the Redis with Options.Primary")
	}
	for _, s := range r.shards {
		if s.err == nil {
			s.err = s.node.refuseReplica()
		}
		if s.err != nil && len(r.shards) == 1 {
			return nil, s.err
		}
	}
	guards, stop := context.WithCancel(ctx)
	return &Expirer{
		redis: r, links: make(map[place]*expireLink), paces: make(map[*node]*expirePace), keys: keys, ctx: guards, stop: stop,
	}, nil
}

// refuseReplica returns an error if the node is known to be a replica.
func (n *node) refuseReplica() error {
	if n.readOnly || n.info.Role == "slave" || n.info.Role == "replica" {
		return fmt.Errorf("%s is a replica: it refuses writes, or loses them at the next synchronisation; its primary has to be written to", n.name)
	}
	return nil
}

// Close ends the connections and the guards.
func (x *Expirer) Close() {
	x.stop()
	for _, l := range x.links {
		l.disconnect()
	}
	for _, p := range x.paces {
		p.wait()
	}
}

const (
	// expireTries is how often a change is tried where the server asks for it: a slot that moves, a failover.
	expireTries = 8
	expirePause = 100 * time.Millisecond
)

// Set makes the changes and returns one outcome for each, in their order. It stops between two round trips when ctx
// ends: then the outcomes of those sent are known, the others are Unreached, and the error wraps ctx.Err(). Any other
// error says why changes are Unreached.
func (x *Expirer) Set(ctx context.Context, changes []Change) ([]Outcome, error) {
	out := make([]Outcome, len(changes))
	pending := make([]int, len(changes))
	for i := range pending {
		pending[i] = i
	}
	var failures map[string]error
	for try := 0; try < expireTries && len(pending) > 0 && ctx.Err() == nil; try++ {
		if try > 0 {
			if sleep(ctx, expirePause) != nil {
				break
			}
			x.relocate(ctx)
		}
		failures = x.round(ctx, changes, pending, out)
		pending = pendingOf(pending, out)
	}
	for _, i := range pending {
		out[i] = Unreached
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	errs := make([]error, 0, len(failures))
	for _, err := range failures {
		errs = append(errs, err)
	}
	if len(errs) == 0 && len(pending) > 0 {
		errs = append(errs, fmt.Errorf("%d keys: their slots kept moving, or the server was not ready", len(pending)))
	}
	return out, errors.Join(errs...)
}

func pendingOf(pending []int, out []Outcome) []int {
	var left []int
	for _, i := range pending {
		if out[i] == again {
			left = append(left, i)
		}
	}
	return left
}

// relocate looks up where the keys are now. Servers that turned out to be replicas are dropped.
func (x *Expirer) relocate(ctx context.Context) {
	r := x.redis
	if r.topo.target.deployment == standalone {
		return
	}
	shards, err := r.topo.locate(ctx)
	if err != nil {
		return // the next round says what is wrong
	}
	r.shards = shards
	for _, s := range r.shards {
		if s.err == nil {
			s.err = s.node.refuseReplica()
		}
	}
}

// round tries the pending changes once, shard after shard. It returns what went wrong, by shard.
func (x *Expirer) round(ctx context.Context, changes []Change, pending []int, out []Outcome) map[string]error {
	failures := make(map[string]error)
	groups, order := x.group(changes, pending)
	for _, at := range order {
		s := x.redis.shards[at.shard]
		err := s.err
		if err == nil {
			err = x.link(place{s.node, at.db}).set(ctx, changes, groups[at], out)
		}
		if err != nil && ctx.Err() == nil {
			failures[s.name] = err
			s.err = err // it is not asked again
			for _, i := range groups[at] {
				if out[i] == again {
					out[i] = Unreached
				}
			}
		}
	}
	return failures
}

type shardDB struct{ shard, db int }

// group sorts changes by the server that holds them, in the order of their first.
func (x *Expirer) group(changes []Change, pending []int) (groups map[shardDB][]int, order []shardDB) {
	groups = make(map[shardDB][]int)
	for _, i := range pending {
		at := shardDB{x.redis.shardOf(changes[i].Name), changes[i].DB}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], i)
	}
	return groups, order
}

func (x *Expirer) link(at place) *expireLink {
	l := x.links[at]
	if l == nil {
		if x.paces[at.node] == nil {
			x.paces[at.node] = newExpirePace(x.ctx, at.node, x.keys)
		}
		l = &expireLink{place: at, pace: x.paces[at.node]}
		x.links[at] = l
	}
	return l
}

// Method names the ways in which expiries are compared and set, for humans: "script", "WATCH/MULTI".
func (x *Expirer) Method() string {
	name := ""
	for _, l := range x.links {
		if l.how == nil {
			continue
		}
		if n := l.how.name(); name == "" {
			name = n
		} else if name != n {
			name = "script or WATCH/MULTI"
		}
	}
	return name
}

// Impact is what the changes cost: rests, back-offs and PINGs. It is known after Close.
func (x *Expirer) Impact() Impact {
	var m Impact
	for _, p := range x.paces {
		p.account(&m)
	}
	return m
}

// An expireLink is the connection to one database of one server.
type expireLink struct {
	place
	pace *expirePace
	how  expireSetter

	conn  *redis.Conn
	close func()
	wait  waitMeter
}

// An expireSetter compares and sets the expiries of some keys in as few round trips as it can. It writes an outcome
// for each; one that is again is to be tried once more. An error ends the work on this server.
type expireSetter interface {
	set(ctx context.Context, l *expireLink, changes []Change, indexes []int, out []Outcome) error
	name() string
}

// set makes changes[i] for all indexes i, a page at a time. A page that was begun is finished even if ctx ends.
func (l *expireLink) set(ctx context.Context, changes []Change, indexes []int, out []Outcome) error {
	if l.how == nil {
		how, err := l.node.chooseSetter(ctx, l.db)
		if err != nil {
			return err
		}
		l.how = how
	}
	for len(indexes) > 0 {
		if err := l.pace.pacer.wait(ctx); err != nil {
			return err
		}
		n := min(l.pace.pacer.size(), len(indexes))
		l.wait.total = 0
		if err := l.setPage(context.WithoutCancel(ctx), changes, indexes[:n], out); err != nil {
			return l.node.explain(err)
		}
		l.pace.pacer.done(l.wait.total, n)
		indexes = indexes[n:]
	}
	return nil
}

// setPage tries a page again once when the connection was lost: a change that was made already is recognised.
func (l *expireLink) setPage(ctx context.Context, changes []Change, page []int, out []Outcome) error {
	l.connect()
	err := l.how.set(ctx, l, changes, page, out)
	if err != nil && problemOf(err) == ProblemClosed {
		l.disconnect()
		l.connect()
		err = l.how.set(ctx, l, changes, page, out)
	}
	if err != nil {
		l.disconnect() // replies may be left on it
	}
	return err
}

func (l *expireLink) connect() {
	if l.conn != nil {
		return
	}
	client := l.node.client(l.db, &l.wait)
	l.conn = client.Conn()
	l.close = func() {
		l.conn.Close()
		client.Close()
	}
}

func (l *expireLink) disconnect() {
	if l.conn != nil {
		l.close()
		l.conn = nil
	}
}

// exec runs a pipeline. Error replies stay with their commands.
func (l *expireLink) exec(ctx context.Context, cmds []redis.Cmder) error {
	pipe := l.conn.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...) // queues only: it never fails
	_, err := pipe.Exec(ctx)
	return unlessReply(err)
}
