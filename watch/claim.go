package watch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// claimTimeout is how long a shared store may take to answer a claim.
const claimTimeout = 1500 * time.Millisecond

// A Store is where several watchers claim what only one of them should do.
// scan.Claims is one.
type Store interface {
	// Claim sets key for the time of window, unless it is set, and reports whether it did.
	Claim(ctx context.Context, key, holder string, window time.Duration) (bool, error)
	// Release gives up a claim that was made a moment ago.
	Release(ctx context.Context, key string) error
}

// Claims decide who of several watchers does a thing: the one that claims its
// key first, in its own memory and in the shared store. The rule for key and
// window is the same in both. When the store can't be asked, the answer is
// yes: a duplicate is noise, a lost alert is an outage that nobody hears of.
type Claims struct {
	store   Store // nil: only the memory
	holder  string
	now     func() time.Time
	timeout time.Duration

	mu     sync.Mutex
	until  map[string]time.Time // end of the window of each key held here
	sweep  time.Time            // when ended windows are cleaned away next
	failed error
}

// NewClaims returns Claims that hold nothing. store may be nil; holder is the
// value of the keys, for people who look at them; now is the clock.
func NewClaims(store Store, holder string, now func() time.Time) *Claims {
	return &Claims{store: store, holder: holder, now: now, timeout: claimTimeout, until: make(map[string]time.Time)}
}

// Key makes the key of a claim from its parts: target, rule, subject and event
// of an alert. Parts are hashed: they may be long, and hold anything.
func Key(what string, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s,", len(p), p) // with lengths, so that no two lists look the same
	}
	return "herdscan:" + what + ":" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Claim reports whether the caller is to do what key stands for: nobody has
// done it within the window, or nobody can be asked.
func (c *Claims) Claim(ctx context.Context, key string, window time.Duration) bool {
	if !c.take(key, window) {
		return false
	}
	if c.store == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answered := make(chan bool, 1)
	go func() {
		mine, err := c.store.Claim(ctx, key, c.holder, window)
		c.fail(err)
		answered <- mine || err != nil
	}()
	select {
	case mine := <-answered:
		if !mine {
			c.drop(key) // the window of whoever has it may end before ours would
		}
		return mine
	case <-ctx.Done(): // a store may not keep to its deadline
		c.fail(ctx.Err())
		return true
	}
}

// Release gives up a claim because what it stood for was not done: the next
// one who wants to do it is to be let.
func (c *Claims) Release(ctx context.Context, key string) {
	c.drop(key)
	if c.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.store.Release(ctx, key); err != nil {
		c.fail(err) // it ends with its window
	}
}

// take claims the key in the memory.
func (c *Claims) take(key string, window time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.clean(now)
	if end, held := c.until[key]; held && now.Before(end) {
		return false
	}
	c.until[key] = now.Add(window)
	return true
}

func (c *Claims) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.until, key)
}

// clean removes entries whose window is over, and no others, however many
// there are.
func (c *Claims) clean(now time.Time) {
	const every = time.Minute
	if now.Before(c.sweep) {
		return
	}
	c.sweep = now.Add(every)
	for key, end := range c.until {
		if !now.Before(end) {
			delete(c.until, key)
		}
	}
}

func (c *Claims) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = err
}

// Failed is why the store could not be asked the last time; nil if it could,
// or was not asked yet.
func (c *Claims) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		return nil
	}
	return fmt.Errorf("claims can't be asked for, so alerts may go more than once: %w", c.failed)
}
