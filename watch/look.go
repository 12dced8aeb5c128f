package watch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

const (
	// lookShare is the share of the server's time that looks at the keyspace may take together.
	lookShare   = 0.005
	shortestGap = 5 * time.Second
	longestGap  = 5 * time.Minute
	// lookDuty is the share of the server's time that a look may take while it lasts.
	lookDuty = 0.2
	// maxInspected bounds the keys that are asked for their access counter.
	maxInspected = 200
)

// lookLoop reads the keyspace now and then: where several watchers run, one of
// them in each period.
func (w *Watcher) lookLoop(ctx context.Context, l *scan.Live) {
	gap := cmp.Or(w.opts.Every, shortestGap)
	var r *scan.Redis
	for ctx.Err() == nil {
		key := Key("look", w.target)
		switch {
		case w.opts.Claims.Claim(ctx, key, gap*9/10):
			next, err := w.readKeys(ctx, l, &r)
			w.looked(err)
			if err == nil {
				gap = next
			}
		case w.opts.Board != nil:
			w.borrow(ctx)
		}
		w.firstOnce.Do(func() { close(w.first) })
		select {
		case <-ctx.Done():
		case <-w.lookNow:
			sleep(ctx, 2*w.opts.Pulse) // what was emptied is being filled
		case <-time.After(around(gap)):
		}
	}
}

func (w *Watcher) looked(err error) {
	w.mu.Lock()
	w.lookErr = err
	if err == nil {
		w.looks++
	}
	w.mu.Unlock()
	if !errors.Is(err, context.Canceled) {
		w.limit("keys", err)
	}
}

// readKeys reads the keys, or a sample of them, and returns how long to wait
// before the next time, for the load to be small.
func (w *Watcher) readKeys(ctx context.Context, l *scan.Live, r **scan.Redis) (time.Duration, error) {
	if *r == nil {
		o := w.opts.Redis
		if o.Duty == 0 {
			o.Duty = lookDuty
		}
		o.Counted = func(hits, misses uint64) {
			w.ownHits.Add(hits)
			w.ownMisses.Add(misses)
		}
		opened, err := scan.OpenRedis(ctx, o)
		if err != nil {
			return 0, err
		}
		*r = opened
	}
	info, err := (*r).Info(ctx)
	if err != nil {
		*r = nil
		return 0, err
	}
	look := Look{At: w.now(), Keys: make(map[int64][]scan.KeyRef)}
	look.Offset = info.Now.Sub(look.At)
	sum := &ttlhist.Summary{Grouping: w.opts.Grouping}
	about := ttlhist.Source{
		Name: w.target, Kind: info.Kind, Version: info.Version, Role: info.Role, Now: info.Now, From: info.Now,
		Resolution: time.Millisecond, Policy: info.Policy, MaxMemory: info.MaxMemory,
	}
	sum.Begin(about)
	from := info.Now.Unix()
	some := reservoir{}
	err = (*r).Keys(ctx, func(k *scan.Key) error {
		sum.Add(k)
		some.add(k)
		if sec := k.ExpireMS / 1000; k.ExpireMS > 0 && sec >= from && sec < from+keySeconds && len(look.Keys[sec]) < keysASecond {
			look.Keys[sec] = append(look.Keys[sec], k.Ref())
		}
		return nil
	})
	if err != nil {
		*r = nil
		return 0, err
	}
	about.To = info.Now.Add(w.now().Sub(look.At))
	sum.End(w.parts(about, (*r).Coverage())...)
	w.publish(ctx, sum)
	w.inspect(ctx, l, info, some.keys)
	look.Next = w.gap((*r).Impact())
	w.analyse(look, sum)
	return look.Next, nil
}

// parts turns what was read of each part into the summary's terms, and counts
// the misses that reading has added.
func (w *Watcher) parts(about ttlhist.Source, coverage []scan.Coverage) []ttlhist.Source {
	var parts []ttlhist.Source
	for _, c := range coverage {
		w.ownMisses.Add(1) // for finding out how to ask
		p := about
		p.Name, p.Total, p.Read, p.Vanished, p.Duplicates = c.Name, c.Total, c.Read, c.Vanished, c.Duplicates
		p.Expired, p.Skipped, p.Denied, p.Sampled, p.Partial, p.Notes = c.Expired, c.Skipped, c.Denied, c.Sampled, !c.Complete, c.Notes
		for _, e := range c.Errors {
			p.Errors = append(p.Errors, e.Error())
		}
		parts = append(parts, p)
	}
	return parts
}

// analyse draws the conclusions from a look and hands them to the engine.
func (w *Watcher) analyse(look Look, sum *ttlhist.Summary) {
	look.Analysis = ttlhist.Analyse(sum, ttlhist.Options{Budget: w.opts.Budget, Kinds: w.opts.Kinds})
	w.tell(w.engine.ObserveLook(w.now(), look))
}

// A reservoir holds some keys of a look, each with the same chance.
type reservoir struct {
	keys []scan.KeyRef
	seen int
}

func (r *reservoir) add(k *scan.Key) {
	r.seen++
	if len(r.keys) < maxInspected {
		r.keys = append(r.keys, k.Ref())
	} else if i := rand.IntN(r.seen); i < maxInspected {
		r.keys[i] = k.Ref()
	}
}

// inspect asks for the access counters of some keys, where the server keeps
// them: of those given, and again of the most read ones known so far.
func (w *Watcher) inspect(ctx context.Context, l *scan.Live, info scan.Info, keys []scan.KeyRef) {
	if !info.LFU() {
		return
	}
	for _, d := range w.engine.State(w.now()).Hottest {
		known := func(k scan.KeyRef) bool { return k.DB == d.DB && bytes.Equal(k.Name, d.Name) }
		if !slices.ContainsFunc(keys, known) {
			keys = append(keys, d.KeyRef)
		}
	}
	details, err := l.Inspect(ctx, keys)
	if err != nil {
		return // the list of the hottest keys is a help, no more
	}
	for _, d := range details {
		if d.Type == "none" {
			w.ownMisses.Add(2)
		} else {
			w.ownHits.Add(2)
		}
	}
	w.engine.ObserveFrequencies(details)
}

// gap is the time to the next look, from what this one cost the server.
func (w *Watcher) gap(load scan.Impact) time.Duration {
	w.mu.Lock()
	w.load = load
	w.mu.Unlock()
	if w.opts.Every > 0 {
		return w.opts.Every
	}
	cost := load.ServerPerPage * time.Duration(load.Pages)
	return min(max(time.Duration(float64(cost)/lookShare), shortestGap), longestGap)
}

// board is the key under which the last look is left.
func (w *Watcher) board() string { return Key("board", w.target) }

// publish leaves what was read for the watchers that did not read.
func (w *Watcher) publish(ctx context.Context, sum *ttlhist.Summary) {
	if w.opts.Board == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	var b bytes.Buffer
	if err := sum.Save(&b, false); err != nil {
		return
	}
	if err := w.opts.Board.Put(ctx, w.board(), b.Bytes(), 2*longestGap); err != nil {
		w.limit("sharing", fmt.Errorf("what was read could not be left for the other watchers: %w", err))
		return
	}
	w.limit("sharing", nil)
}

// borrow takes what another watcher has read.
func (w *Watcher) borrow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	value, err := w.opts.Board.Get(ctx, w.board())
	if err != nil || len(value) == 0 {
		return // the look before still holds
	}
	sum, err := ttlhist.Load(bytes.NewReader(value))
	if err != nil || len(sum.Sources()) == 0 {
		return
	}
	offset := w.clockOffset()
	at := sum.Sources()[0].Now.Add(-offset)
	if !at.After(w.engine.State(w.now()).ReadAt) {
		return // known already
	}
	w.analyse(Look{At: at, Offset: offset, Next: cmp.Or(w.opts.Every, longestGap)}, sum)
}
