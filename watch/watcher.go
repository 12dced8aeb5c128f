package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/herdscan/herdscan/querylog/live"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// Options are the settings of a Watcher. The zero value of every field but
// Redis is a good choice.
type Options struct {
	// Redis is what is watched.
	Redis scan.Options
	// Name is what claims call it; its address if "".
	Name string
	// Pulse is the time between two looks at the counters; 1 s if 0.
	Pulse time.Duration
	// Every is the time between two looks at the keyspace; if 0 it follows from what a look costs the server.
	Every time.Duration
	// MaxKeys is the number of keys that a look reads at most; of more, a sample is read. 100,000 if 0.
	MaxKeys uint64
	// Lead is how long before a tooth its herd is told as due; 5 minutes if 0.
	Lead time.Duration
	// Budget is what the store or database can take in one second; 0: not judged.
	Budget float64
	// Grouping and Kinds are those of the analysis of keys.
	Grouping ttlhist.Grouping
	Kinds    []ttlhist.KindRule

	// EnableKeyMiss switches the server's keymiss events on, and back at the end.
	EnableKeyMiss bool
	// Monitor permits samples of MONITOR, each of SampleFor (3 s if 0) at most.
	Monitor   bool
	SampleFor time.Duration

	// MySQL is the database to watch as well, if not nil.
	MySQL *live.Config

	// Claims decide who of several watchers reads a big keyspace; nil: this one always does.
	Claims *Claims
	// Board is where a look is left for the other watchers; nil: nowhere.
	Board Board
	// Tell is called with events as they happen, by several goroutines, one at a time. It must not wait.
	Tell func([]Event)
	// Now is the clock; the system's if nil.
	Now func() time.Time
}

// A Board is a place where one watcher leaves what others need. scan.Claims is one.
type Board interface {
	Put(ctx context.Context, key string, value []byte, life time.Duration) error
	Get(ctx context.Context, key string) ([]byte, error)
}

const (
	defaultPulse     = time.Second
	defaultMaxKeys   = 100_000
	defaultSampleFor = 3 * time.Second
	// tick is how often time alone is looked at.
	tick = 250 * time.Millisecond
	// pulseTimeout is how long the counters may take before the server counts as lost.
	pulseTimeout = 5 * time.Second
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
)

// A Watcher makes the observations that an Engine needs.
type Watcher struct {
	opts   Options
	engine *Engine
	now    func() time.Time

	ownHits, ownMisses atomic.Uint64
	alive              atomic.Int64 // Unix ns of the last tick
	lookNow            chan struct{}
	first              chan struct{} // closed after the first look, or when there can be none
	firstOnce          sync.Once

	tellMu sync.Mutex

	mu      sync.Mutex
	changed map[string]flags // servers whose notify-keyspace-events was changed
	target  string
	looks   int
	lookErr error
	load    scan.Impact
	offset  time.Duration
}

// flags are the old and the new value of a setting.
type flags struct{ was, set string }

// New returns a Watcher that has not begun.
func New(o Options) *Watcher {
	o.Pulse = cmp.Or(o.Pulse, defaultPulse)
	o.MaxKeys = cmp.Or(o.MaxKeys, defaultMaxKeys)
	o.SampleFor = cmp.Or(o.SampleFor, defaultSampleFor)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tell == nil {
		o.Tell = func([]Event) {}
	}
	if o.Claims == nil {
		o.Claims = NewClaims(nil, "", o.Now)
	}
	o.Redis.MaxKeys = o.MaxKeys
	return &Watcher{
		opts: o, now: o.Now, engine: NewEngine(EngineOptions{Lead: o.Lead, Budget: o.Budget}),
		lookNow: make(chan struct{}, 1), first: make(chan struct{}), changed: make(map[string]flags),
		target: cmp.Or(o.Name, scan.Redact(o.Redis.URL)),
	}
}

// Target is what is watched, as alerts and claims name it.
func (w *Watcher) Target() string { return w.target }

// State returns what is known now.
func (w *Watcher) State() State { return w.engine.State(w.now()) }

// Run watches until ctx ends. Nothing that goes wrong with a server ends it:
// what can't be seen is told, and tried again.
func (w *Watcher) Run(ctx context.Context) {
	w.alive.Store(w.now().UnixNano())
	// Without a deadline: one that is near shows as a server that does not answer in time.
	ctx, cancel := undated(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { w.tickLoop(ctx) })
	wg.Go(func() { w.redisLoop(ctx) })
	if w.opts.MySQL != nil {
		wg.Go(func() { w.mysqlLoop(ctx) })
	}
	wg.Wait()
	w.putBack(context.WithoutCancel(ctx))
}

// undated is a context that ends with ctx, but does not tell when.
func undated(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	return out, func() { stop(); cancel() }
}

// tell hands events on.
func (w *Watcher) tell(events []Event) {
	if len(events) == 0 {
		return
	}
	w.tellMu.Lock()
	defer w.tellMu.Unlock()
	w.opts.Tell(events)
}

func (w *Watcher) limit(what string, err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	w.tell(w.engine.Limit(w.now(), what, why))
}

func (w *Watcher) note(subject, text string) { w.tell(w.engine.Note(w.now(), subject, text)) }

// tickLoop lets time pass for the engine.
func (w *Watcher) tickLoop(ctx context.Context) {
	for sleep(ctx, tick) {
		now := w.now()
		w.alive.Store(now.UnixNano())
		w.limit("coordination", w.opts.Claims.Failed())
		w.tell(w.engine.Tick(now))
	}
}

// Alive reports whether the Watcher has moved within the last half minute.
func (w *Watcher) Alive() bool {
	const long = 30 * time.Second
	at := w.alive.Load()
	return at > 0 && w.now().Sub(time.Unix(0, at)) < long
}

// redisLoop keeps a session with the deployment, and begins another whenever
// it is lost.
func (w *Watcher) redisLoop(ctx context.Context) {
	const what = "redis"
	pause := backoff{first: firstPause, limit: longestPause}
	for ctx.Err() == nil {
		l, err := scan.OpenLive(ctx, w.opts.Redis)
		if err == nil {
			w.limit(what, errors.Join(l.Unreachable()...))
			pause.reset()
			err = w.session(ctx, l)
			l.Close()
		}
		if ctx.Err() != nil {
			return
		}
		w.limit(what, err)
		w.firstOnce.Do(func() { close(w.first) })
		sleep(ctx, pause.next())
	}
}

// session observes the deployment until it is lost.
func (w *Watcher) session(ctx context.Context, l *scan.Live) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { w.lookLoop(ctx, l) })
	wg.Go(func() { w.keyLoop(ctx, l) })
	wg.Go(func() { w.missLoop(ctx, l) })
	if w.opts.Monitor {
		wg.Go(func() { w.monitorLoop(ctx, l) })
	}
	return w.pulseLoop(ctx, l)
}

// pulseLoop reads the counters. Its error means that the session is lost.
func (w *Watcher) pulseLoop(ctx context.Context, l *scan.Live) error {
	roles := make(map[string]string)
	for {
		asking, cancel := context.WithTimeout(ctx, pulseTimeout)
		vitals, err := l.Vitals(asking)
		cancel()
		if err != nil {
			return err
		}
		var blind error
		for _, v := range vitals {
			if v.RunID == "" && len(v.Missing) > 0 {
				blind = errors.New(v.Missing[0] + ": misses, hits, evictions and flushes are not seen")
				continue
			}
			w.setOffset(v.Now, v.At)
		}
		w.limit("INFO", blind)
		own := Own{w.ownHits.Swap(0), w.ownMisses.Swap(0)}
		events, emptied := w.engine.ObserveVitals(w.now(), vitals, own)
		w.tell(events)
		if emptied {
			w.look()
		}
		for _, v := range vitals {
			if before, known := roles[v.Server]; known && before == "master" && v.Role == "slave" {
				return fmt.Errorf("%s is no primary any more", v.Server)
			}
			roles[v.Server] = v.Role
		}
		if !sleep(ctx, w.opts.Pulse) {
			return ctx.Err()
		}
	}
}

func (w *Watcher) setOffset(server, ours time.Time) {
	if server.IsZero() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset = server.Sub(ours)
}

func (w *Watcher) clockOffset() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.offset
}

// look asks for a look at the keyspace soon.
func (w *Watcher) look() {
	select {
	case w.lookNow <- struct{}{}:
	default:
	}
}

// keyLoop asks again for the deadlines of single keys: of a tooth that is
// near, and of keys that had a stampede.
func (w *Watcher) keyLoop(ctx context.Context, l *scan.Live) {
	hotAt := w.now()
	for sleep(ctx, tick) {
		now := w.now()
		if c, ok := w.engine.Check(now); ok {
			if expires, err := w.reread(ctx, l, c.Keys); err == nil {
				w.engine.Answer(c, expires)
			}
		}
		if now.Before(hotAt) {
			continue
		}
		hotAt = now.Add(2 * w.opts.Pulse)
		if keys := w.engine.HotKeys(); len(keys) > 0 {
			if expires, err := w.reread(ctx, l, keys); err == nil {
				w.engine.ObserveHot(keys, expires)
			}
		}
	}
}

// reread asks for deadlines and counts what that adds to the server's
// counters: a hit or a miss each, and one miss for finding out how to ask.
func (w *Watcher) reread(ctx context.Context, l *scan.Live, keys []scan.KeyRef) ([]int64, error) {
	expires, err := l.Reread(ctx, keys)
	if err != nil {
		return nil, err
	}
	w.ownMisses.Add(1)
	for _, ms := range expires {
		if ms == scan.Gone {
			w.ownMisses.Add(1)
		} else {
			w.ownHits.Add(1)
		}
	}
	return expires, nil
}

// FirstLook is closed when the keyspace was looked at once, or can't be.
func (w *Watcher) FirstLook() <-chan struct{} { return w.first }

// Looks is how often the keyspace was looked at, what the last look cost, and
// why the last one failed, if it did.
func (w *Watcher) Looks() (n int, load scan.Impact, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks, w.load, w.lookErr
}
