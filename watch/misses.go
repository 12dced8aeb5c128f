package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/herdscan/herdscan/scan"
)

const (
	missLimit = "keymiss"
	// flagsEvery is how often the setting is looked at again: somebody may have changed it.
	flagsEvery = 30 * time.Second
)

// missLoop listens to keymiss events where the server sends them.
func (w *Watcher) missLoop(ctx context.Context, l *scan.Live) {
	pause := backoff{first: firstPause, limit: longestPause}
	for ctx.Err() == nil {
		if !w.sendsMisses(ctx, l) {
			sleep(ctx, flagsEvery)
			continue
		}
		err := w.listen(ctx, l)
		if ctx.Err() != nil {
			return
		}
		w.limit(missLimit, fmt.Errorf("events are not seen: %w", err))
		var refused *scan.CommandError
		if errors.As(err, &refused) {
			sleep(ctx, longestGap)
			continue
		}
		sleep(ctx, pause.next())
	}
}

// listen reads events, and now and then whether they are still sent.
func (w *Watcher) listen(ctx context.Context, l *scan.Live) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for sleep(ctx, flagsEvery) {
			if !w.sendsMisses(ctx, l) {
				cancel(errors.New("they were switched off"))
			}
		}
	}()
	err := l.KeyMisses(ctx, func() { w.limit(missLimit, nil) }, func(m scan.KeyMiss) {
		w.engine.ObserveMiss(w.now(), m)
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// sendsMisses tells whether the servers send keymiss events, switching them on
// where that is permitted.
func (w *Watcher) sendsMisses(ctx context.Context, l *scan.Live) bool {
	settings, err := l.NotifyFlags(ctx)
	var refused *scan.CommandError
	switch {
	case errors.As(err, &refused):
		return true // not known: listen, and hear nothing perhaps
	case err != nil:
		return false
	}
	var off []scan.Setting
	for _, s := range settings {
		if !scan.SendsKeyMisses(s.Value) {
			off = append(off, s)
		}
	}
	if len(off) == 0 {
		return true
	}
	if !w.opts.EnableKeyMiss {
		w.limit(missLimit, fmt.Errorf("the server does not tell which keys are missed; --enable-keymiss lets it (CONFIG SET notify-keyspace-events %q), at next to no cost for hits", scan.WithKeyMisses(off[0].Value)))
		return false
	}
	for _, s := range off {
		if err := w.switchOn(ctx, l, s); err != nil {
			w.limit(missLimit, fmt.Errorf("events could not be switched on: %w", err))
			return false
		}
	}
	return true
}

// switchOn adds what is needed to a server's flags, and remembers what they
// were.
func (w *Watcher) switchOn(ctx context.Context, l *scan.Live, s scan.Setting) error {
	set := scan.WithKeyMisses(s.Value)
	w.mu.Lock()
	w.changed[s.Server] = flags{was: s.Value, set: set}
	w.mu.Unlock()
	if err := l.SetNotifyFlags(ctx, scan.Setting{Server: s.Server, Value: set}); err != nil {
		w.mu.Lock()
		delete(w.changed, s.Server)
		w.mu.Unlock()
		return err
	}
	w.note(s.Server, fmt.Sprintf("notify-keyspace-events set from %q to %q; it is put back at the end", s.Value, set))
	return nil
}

// putBack restores the flags that were changed, and says where it could not.
func (w *Watcher) putBack(ctx context.Context) {
	w.mu.Lock()
	changed := w.changed
	w.changed = make(map[string]flags)
	w.mu.Unlock()
	if len(changed) == 0 {
		return
	}
	const enough = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	now, err := w.flagsNow(ctx)
	for server, f := range changed {
		current, known := now[server]
		switch {
		case err == nil && known && sameFlags(current, f.was):
			w.note(server, fmt.Sprintf("notify-keyspace-events is %q as before", current))
		case err == nil && known && !sameFlags(current, f.set):
			w.note(server, fmt.Sprintf("notify-keyspace-events is %q: somebody has changed it meanwhile, so it is left; it was %q", current, f.was))
		case err == nil && known && w.restore(ctx, server, f.was) == nil:
			w.note(server, fmt.Sprintf("notify-keyspace-events put back to %q", f.was))
		default:
			w.note(server, fmt.Sprintf("notify-keyspace-events could NOT be put back: on %s run CONFIG SET notify-keyspace-events %q", server, f.was))
		}
	}
}

// flagsNow asks all servers on a new connection: the old one may be lost.
func (w *Watcher) flagsNow(ctx context.Context) (map[string]string, error) {
	l, err := scan.OpenLive(ctx, w.opts.Redis)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	settings, err := l.NotifyFlags(ctx)
	now := make(map[string]string)
	for _, s := range settings {
		now[s.Server] = s.Value
	}
	return now, err
}

func (w *Watcher) restore(ctx context.Context, server, value string) error {
	l, err := scan.OpenLive(ctx, w.opts.Redis)
	if err != nil {
		return err
	}
	defer l.Close()
	return l.SetNotifyFlags(ctx, scan.Setting{Server: server, Value: value})
}

// sameFlags compares flags as sets: a server gives them back in its own order.
func sameFlags(a, b string) bool {
	set := func(s string) (bits [256]bool) {
		for i := range len(s) {
			bits[s[i]] = true
		}
		if bits['A'] { // all classes but m and n, which servers write as one
			for _, c := range "g$lshzxetd" {
				bits[c] = false
			}
		}
		return bits
	}
	return set(a) == set(b)
}
