package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// maxIdle is the longest idle time that is believed. Servers that do not keep
// it answer with anything.
const maxIdle = 10 * 365 * 24 * time.Hour

// maxLooked bounds the keys that are asked for type and idle time.
const maxLooked = 400

// A closerLook asks a Redis about the few keys that a finding needs: type and
// idle time, and with --second-look whether they are written anew.
type closerLook struct {
	src        *scan.Redis
	sum        *ttlhist.Summary
	keys       []scan.KeyRef
	expires    []int64 // of keys at the first look, as scan.Redis.Reread tells them
	serverTime func() time.Time
}

// look adds what a closer look tells to the summary. Its notes say what could
// not be seen; no failure here takes away what was read.
func (r *ttlRun) look(ctx context.Context, src *scan.Redis, sum *ttlhist.Summary, info scan.Info) []string {
	started := r.env.Now()
	l := &closerLook{src: src, sum: sum, serverTime: func() time.Time { return info.Now.Add(r.env.Now().Sub(started)) }}
	l.choose(info)
	if len(l.keys) == 0 || ctx.Err() != nil {
		return nil
	}
	var err error
	if l.expires, err = src.Reread(ctx, l.keys); err != nil {
		return []string{"sample keys could not be asked again: " + report.Clean(err.Error())}
	}
	notes := l.inspect(ctx)
	if r.opts.secondLook > 0 {
		notes = append(notes, l.again(ctx, r.opts.secondLook))
	}
	return notes
}

// choose takes a few keys of each pattern, the largest patterns first.
func (l *closerLook) choose(info scan.Info) {
	dbs := []int{0}
	if len(info.DBs) > 0 {
		dbs = slices.Sorted(maps.Keys(info.DBs))
	}
	for _, name := range l.sum.SampleKeys(maxLooked / len(dbs)) {
		for _, db := range dbs {
			l.keys = append(l.keys, scan.KeyRef{Name: name, DB: db})
		}
	}
}

// inspect adds types, and remaining plus idle times.
func (l *closerLook) inspect(ctx context.Context) []string {
	now := l.serverTime()
	details, err := l.src.Inspect(ctx, l.keys)
	if err != nil {
		return []string{"type and idle time of sample keys are not known: " + report.Clean(err.Error())}
	}
	for i, d := range details {
		if d.Type != "" && d.Type != "none" {
			l.sum.ObserveType(d.Name, d.Type)
		}
		if d.HasIdle && d.Idle < maxIdle && l.expires[i] > 0 {
			l.sum.ObserveLife(d.Name, time.UnixMilli(l.expires[i]).Sub(now), d.Idle)
		}
	}
	return nil
}

// again reads the expiries once more. A key whose expiry moved into the future
// was written in between, so the time it has left is its TTL, but for the
// pause.
func (l *closerLook) again(ctx context.Context, pause time.Duration) string {
	select {
	case <-ctx.Done():
		return "second look: interrupted"
	case <-time.After(pause):
	}
	after, err := l.src.Reread(ctx, l.keys)
	if err != nil {
		return "second look: " + report.Clean(err.Error())
	}
	now, written := l.serverTime(), 0
	for i, key := range l.keys {
		left := time.UnixMilli(after[i]).Sub(now)
		if after[i] <= l.expires[i] || l.expires[i] < 0 {
			continue
		}
		written++
		ttl := left
		if human := comb.NextHuman(left - time.Second); human > 0 && human <= left+pause+time.Second {
			ttl = human
		}
		l.sum.ObserveTTL(key.Name, ttl)
	}
	return fmt.Sprintf("second look after %s: %s of %s were written meanwhile", report.Dur(pause), report.Int(written), report.Count(len(l.keys), "keys"))
}
