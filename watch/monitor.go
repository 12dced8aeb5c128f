package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/herdscan/herdscan/scan"
)

const (
	monitorLimit = "MONITOR"
	// monitorRest is how many times as long as a sample nothing is sampled after it: MONITOR runs a tenth of the time
	// at most.
	monitorRest = 9
	// monitorEvery is the time between samples when nothing calls for one.
	monitorEvery = time.Minute
	// beforeDeath is how long before the deadline of a hot key a sample begins.
	beforeDeath = 300 * time.Millisecond
	sampleTick  = 100 * time.Millisecond
)

// monitorLoop takes samples of MONITOR: when a hot key is about to die, when
// something calls for an explanation, and now and then.
func (w *Watcher) monitorLoop(ctx context.Context, l *scan.Live) {
	w.note(monitorLimit, fmt.Sprintf("is used for up to %s at a time, a tenth of the time at most; while it runs, a small command costs the server about 40 %% more", Span(w.opts.SampleFor)))
	last := time.Time{}
	for ctx.Err() == nil {
		now := w.now()
		if !w.wantsSample(now, last) {
			sleep(ctx, sampleTick)
			continue
		}
		err := w.sample(ctx, l)
		last = w.now()
		if ctx.Err() != nil {
			return
		}
		w.limit(monitorLimit, err)
		var refused *scan.CommandError
		if errors.As(err, &refused) {
			return // until the next session
		}
	}
}

func (w *Watcher) wantsSample(now, last time.Time) bool {
	if last.IsZero() || now.Sub(last) >= monitorEvery {
		return true
	}
	if now.Sub(last) < monitorRest*w.opts.SampleFor {
		return false
	}
	if at, ok := w.engine.NextHot(now); ok && at.Sub(now) <= beforeDeath {
		return true
	}
	return w.engine.Suspect(now)
}

// sample runs MONITOR once.
func (w *Watcher) sample(ctx context.Context, l *scan.Live) error {
	ctx, cancel := context.WithTimeout(ctx, w.opts.SampleFor)
	defer cancel()
	var mu sync.Mutex
	began := w.now()
	s := NewSample(began, w.clockOffset())
	done := make(chan error, 1)
	go func() {
		done <- l.Monitor(ctx, func(c *scan.Command) {
			mu.Lock()
			defer mu.Unlock()
			s.Add(c)
		})
	}()
	observe := func() {
		now := w.now()
		mu.Lock()
		list := s.Rebuilds(now)
		mu.Unlock()
		w.tell(w.engine.ObserveRebuilds(now, list))
	}
	for {
		select {
		case err := <-done:
			observe()
			if err == nil && s.Commands > 0 {
				w.sampled(w.now().Sub(began), s.Commands)
			}
			return err
		case <-time.After(sampleTick):
			observe()
		}
	}
}

// sampled says what a sample has cost.
func (w *Watcher) sampled(took time.Duration, commands uint64) {
	w.note(monitorLimit, fmt.Sprintf("ran for %s and showed %s (some %s of the server's time, at 5 µs each)",
		Span(took), count(commands, "commands", false), (time.Duration(commands)*5*time.Microsecond).Round(time.Millisecond)))
}
