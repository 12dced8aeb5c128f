package watch

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff are pauses between tries that grow up to a limit, each random from
// nothing to its full length: clients that lost a server together must not
// come back together (exponential backoff with full jitter).
type backoff struct {
	first, limit time.Duration
	tries        int
}

func (b *backoff) next() time.Duration {
	top := b.limit
	if b.tries < 16 {
		top = min(b.limit, b.first<<b.tries)
	}
	b.tries++
	return time.Duration(rand.Int64N(int64(top) + 1))
}

func (b *backoff) reset() { b.tries = 0 }

// sleep waits, and reports whether ctx is still going on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// around is a duration at random by a tenth more or less, so that watchers
// that were started together do not stay together.
func around(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(rand.Int64N(int64(d/5)+1))
}
