package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

const (
	// fieldsOfHash is how many fields of a hash are asked about: all of a small one, some of a large one.
	fieldsOfHash = 16
	// hashesAtOnce and typesAtOnce keep a round trip within maxService.
	hashesAtOnce = 16
	typesAtOnce  = 100
	// maxHashes is how many hashes of a database are looked into: a look costs the server some ten times a key's.
	maxHashes = 20_000
)

// A fieldAccount is what the chains of a part have found out about hash fields.
type fieldAccount struct {
	expected uint64 // hashes of which a field expires, by the server's own count
	looked   atomic.Int64
	found    atomic.Int64
	passed   atomic.Int64          // hashes not looked into because of maxHashes
	partly   atomic.Int64          // hashes with more fields than were asked about
	missing  atomic.Pointer[error] // the first thing that made it impossible
}

func (a *fieldAccount) wanted() bool { return a.expected > 0 && a.missing.Load() == nil }

func (a *fieldAccount) fail(err error) { a.missing.CompareAndSwap(nil, &err) }

// notes tells a reader what the account means for keys without a TTL.
func (a *fieldAccount) notes(sampled bool) []string {
	if a.expected == 0 {
		return nil
	}
	if err := a.missing.Load(); err != nil {
		return []string{fmt.Sprintf("fields expire in %d hashes, by the server's count; which ones is not to be had, so they count as keys without a TTL: %v",
			a.expected, *err)}
	}
	var notes []string
	found, passed := a.found.Load(), a.passed.Load()
	if passed > 0 {
		notes = append(notes, fmt.Sprintf("%d hashes without a TTL were looked into for fields that expire, %d more were not and count as keys without a TTL",
			a.looked.Load(), passed))
	}
	if partly := a.partly.Load(); partly > 0 {
		notes = append(notes, fmt.Sprintf("%d large hashes were judged by %d of their fields, chosen at random", partly, fieldsOfHash))
	}
	if !sampled && passed == 0 && found < int64(a.expected) {
		notes = append(notes, fmt.Sprintf("fields expire in %d hashes, by the server's count; %d of them were found among the keys without a TTL",
			a.expected, found))
	}
	return notes
}

// A fieldLook finds, among keys without an expiry, the hashes of which a field expires (Redis 7.4, Valkey 9). It asks
// for names of fields and their times, never for values, on a connection of its own that leaves idle times and access
// counters of the keys as they are.
type fieldLook struct {
	part  *part
	wait  waitMeter
	conn  *redis.Conn
	close func()
}

// look notes in g.fieldMS the earliest expiry of a field of each such hash. Only the end of ctx is an error: whatever
// else goes wrong is in the part's account, and the keys count as what they are known to be.
func (l *fieldLook) look(ctx context.Context, g *page) error {
	if g == nil {
		return nil
	}
	clear(g.fieldMS)
	g.fieldHits = 0
	if !l.part.fields.wanted() {
		return nil
	}
	var immortal []int
	for i, ms := range g.expireMS {
		if ms == NoExpiry {
			immortal = append(immortal, i)
		}
	}
	err := l.hashes(ctx, g, immortal)
	if err != nil && ctx.Err() == nil {
		l.part.fields.fail(err)
		l.disconnect()
	}
	return ctx.Err()
}

// hashes looks into those of the keys that are hashes.
func (l *fieldLook) hashes(ctx context.Context, g *page, indexes []int) error {
	if len(indexes) == 0 {
		return nil
	}
	if err := l.connect(ctx); err != nil {
		return err
	}
	var hashes []int
	for batch := range slices.Chunk(indexes, typesAtOnce) {
		types := make([]*redis.StatusCmd, len(batch))
		for i, at := range batch {
			types[i] = redis.NewStatusCmd(ctx, "type", string(g.names[at]))
		}
		if err := exec(ctx, l, g, types); err != nil {
			return err
		}
		for i, at := range batch {
			if types[i].Val() == "hash" {
				hashes = append(hashes, at)
			}
		}
	}
	for batch := range slices.Chunk(hashes, hashesAtOnce) {
		if l.part.fields.looked.Add(int64(len(batch))) > maxHashes {
			l.part.fields.looked.Add(-int64(len(batch)))
			l.part.fields.passed.Add(int64(len(batch)))
			continue
		}
		if err := l.fields(ctx, g, batch); err != nil {
			return err
		}
	}
	return nil
}

// fields asks for some fields of a few hashes and when they expire.
func (l *fieldLook) fields(ctx context.Context, g *page, hashes []int) error {
	names := make([]*redis.StringSliceCmd, len(hashes))
	for i, at := range hashes {
		names[i] = redis.NewStringSliceCmd(ctx, "hrandfield", string(g.names[at]), fieldsOfHash)
	}
	if err := exec(ctx, l, g, names); err != nil {
		return err
	}
	var asked []int
	var times []*redis.IntSliceCmd
	for i, at := range hashes {
		fields := names[i].Val()
		if len(fields) == 0 {
			continue // gone, or a hash no more
		}
		args := []any{"hpexpiretime", string(g.names[at]), "fields", len(fields)}
		for _, f := range fields {
			args = append(args, f)
		}
		if len(fields) == fieldsOfHash {
			l.part.fields.partly.Add(1)
		}
		asked = append(asked, at)
		times = append(times, redis.NewIntSliceCmd(ctx, args...))
	}
	if err := exec(ctx, l, g, times); err != nil {
		return err
	}
	for i, at := range asked {
		l.note(g, at, times[i].Val())
	}
	return nil
}

// note keeps the earliest of the times of a hash's fields. Those that are negative stand for none.
func (l *fieldLook) note(g *page, at int, times []int64) {
	first := int64(0)
	for _, ms := range times {
		if ms > 0 && (first == 0 || ms < first) {
			first = ms
		}
	}
	if first == 0 {
		return
	}
	if g.fieldMS == nil {
		g.fieldMS = make(map[int]int64)
	}
	g.fieldMS[at] = first
	l.part.fields.found.Add(1)
}

// exec runs commands in one round trip, at the pace of the scan. A refusal of the command is an error; that of one key
// (which may have changed meanwhile) is left to the caller.
func exec[C redis.Cmder](ctx context.Context, l *fieldLook, g *page, cmds []C) error {
	if len(cmds) == 0 {
		return nil
	}
	if err := l.part.pacer.wait(ctx); err != nil {
		return err
	}
	pipe := l.conn.Pipeline()
	for _, c := range cmds {
		_ = pipe.Process(ctx, c) // queues only
	}
	l.wait.total = 0
	_, err := pipe.Exec(ctx)
	l.part.pacer.also(l.wait.total)
	g.fieldHits += uint64(len(cmds))
	if err != nil && !isErrorReply(err) && !errors.Is(err, redis.Nil) {
		return l.part.node.explain(err)
	}
	for _, c := range cmds {
		if missing, ok := commandError(l.part.node.name, c.Name(), c.Err()); ok {
			return missing
		}
	}
	return nil
}

// connect makes the connection unless it is there. Without NO-TOUCH nothing is asked: a look must not make a key seem
// to be in use.
func (l *fieldLook) connect(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	client := l.part.node.client(l.part.db, &l.wait)
	conn := client.Conn()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	l.conn, l.close = conn, func() {
		stop()
		conn.Close()
		client.Close()
	}
	err := conn.Do(ctx, "client", "no-touch", "on").Err()
	if missing, ok := commandError(l.part.node.name, "client|no-touch", err); ok {
		return missing
	}
	return l.part.node.explain(err)
}

func (l *fieldLook) disconnect() {
	if l.conn != nil {
		l.close()
		l.conn = nil
	}
}
