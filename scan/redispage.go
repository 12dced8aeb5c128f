package scan

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// What page.expireMS holds for a key whose expiry is not to be had.
const (
	// Gone is the expiry of a key that does not exist any more (see Redis.Reread).
	Gone   int64 = -2
	denied int64 = -3 // the user may not read this key
	moved  int64 = -4 // the key belongs to another shard now
)

// An expiryMethod is the way to ask one server for absolute expiries.
type expiryMethod struct {
	command  string        // pexpiretime, or pttl with a clock
	hasClock bool          // TIME is allowed
	offset   time.Duration // server's clock less ours, where TIME is not
}

// probeKey does not exist: asking for it shows only whether a command may be used.
const probeKey = "herdscan:probe"

// chooseExpiry finds out how the server tells expiries: PEXPIRETIME (Redis 7.0 or later) is absolute; with PTTL the
// server's clock is read in the same pipeline, never ours.
func (n *node) chooseExpiry(ctx context.Context) (m expiryMethod, notes []string, err error) {
	err = n.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		if !n.opts.PTTL {
			probe := c.Do(ctx, "pexpiretime", probeKey).Err()
			if _, missing := commandError(n.name, "pexpiretime", probe); !missing {
				m.command = "pexpiretime"
				return unlessReply(probe)
			}
		}
		m.command = "pttl"
		probe := c.Do(ctx, "pttl", probeKey).Err()
		if missing, ok := commandError(n.name, "pttl", probe); ok {
			return missing
		}
		notes = append(notes, "expiries are exact to 1 ms only (PTTL; PEXPIRETIME needs Redis 7.0 and the permission)")
		err := c.Time(ctx).Err()
		m.hasClock = err == nil
		if missing, ok := commandError(n.name, "time", err); ok {
			m.offset = n.clockOffset
			notes = append(notes, "expiries lean on this machine's clock: "+missing.Error())
			return nil
		}
		return unlessReply(err)
	})
	return m, notes, err
}

// unlessReply drops error replies: they prove that the command is there.
func unlessReply(err error) error {
	if isErrorReply(err) {
		return nil
	}
	return err
}

// A nameArg is a key as an argument of a command. Being a pointer it is handed over without a copy.
type nameArg struct{ name []byte }

// MarshalBinary implements encoding.BinaryMarshaler for the client.
func (a *nameArg) MarshalBinary() ([]byte, error) { return a.name, nil }

// A page is one reply to SCAN and the expiries of its keys. Its memory and its commands are used again and again.
type page struct {
	part *part
	home chan *page // where it goes back to when it was yielded
	head bool       // of a chain: the chain before may run into it
	tail bool       // of a chain: it may run into the next one

	names     [][]byte
	expireMS  []int64       // one for each name
	fieldMS   map[int]int64 // earliest expiry of a hash field, by the index of the name
	fieldHits uint64        // keyspace hits that looking for these has caused

	scan    replyBuffer
	cursor  string
	count   int
	scanCmd redis.Cmder

	clock    replyBuffer
	clockCmd redis.Cmder
	expiries replyBuffer
	args     []*nameArg
	cmds     []redis.Cmder // the expiry command of each name
}

func newPage(p *part, home chan *page) *page {
	g := &page{part: p, home: home}
	ctx := context.Background() // unused: the pipeline has its own
	g.scanCmd = redis.NewRawWriteToCmd(ctx, &g.scan, "scan", &g.cursor, "count", &g.count)
	g.clockCmd = redis.NewRawWriteToCmd(ctx, &g.clock, "time")
	return g
}

// expiryCmds returns the commands that ask for the expiries of names[from:to].
func (g *page) expiryCmds(command string, from, to int) []redis.Cmder {
	for len(g.cmds) < to {
		arg := new(nameArg)
		g.args = append(g.args, arg)
		g.cmds = append(g.cmds, redis.NewRawWriteToCmd(context.Background(), &g.expiries, command, arg))
	}
	for i := from; i < to; i++ {
		g.args[i].name = g.names[i]
	}
	return g.cmds[from:to]
}

// listed reads the reply to SCAN and returns the next cursor.
func (g *page) listed() (string, error) {
	cursor, names, err := scanReply(g.scan.b, g.names[:0])
	g.names, g.expireMS = names, g.expireMS[:0]
	return string(cursor), err
}

// filter drops the names that are not to be kept.
func (g *page) filter(keep func([]byte) bool) {
	kept := g.names[:0]
	for _, name := range g.names {
		if keep(name) {
			kept = append(kept, name)
		}
	}
	g.names = kept
}

// decode reads the replies of n expiry commands. base is the server's clock in ms for relative answers, else 0.
func (g *page) decode(n int, base int64) error {
	p := replyParser{g.expiries.b}
	for range n {
		v, err := p.number()
		if reply, ok := err.(replyError); ok && !isTransient(err) {
			v = g.refused(string(reply))
		} else if err != nil {
			return err
		}
		if v >= 0 {
			v += base
		}
		g.expireMS = append(g.expireMS, v)
	}
	return nil
}

func (g *page) refused(reply string) int64 {
	if strings.HasPrefix(reply, "MOVED ") || strings.HasPrefix(reply, "ASK ") {
		return moved
	}
	g.part.refusal.CompareAndSwap(nil, &reply)
	return denied
}
