package remedy

import (
	"fmt"
	"math"
	"time"
)

// caveats are the pitfalls that a case runs into with a remedy that helps.
func caveats(c Case, r Remedy) []string {
	if r.Helps == No {
		return nil
	}
	switch r.Name {
	case Jitter:
		return jitterCaveats(c)
	case Coalesce:
		return []string{
			"the shared load must not run under the first caller's context: if that caller hangs up, all others fail",
			"an error is shared too: cache it for a few seconds at most, or a dead source is asked by everybody",
		}
	case Lock:
		return lockCaveats(c)
	case ServeStale:
		return []string{
			fmt.Sprintf("bound the staleness: without the %s past the expiry a source that is down for long goes unseen; watch how many values come near it", secs(c.bound())),
		}
	case EarlyRefresh:
		return []string{"it needs the time of the last load stored beside the value, and traffic; it does nothing for a cold start"}
	case WarmUp:
		return warmCaveats(c)
	case Negative:
		return []string{
			"delete the empty value where the row is created, or it stays unseen until the TTL ends",
			"errors are not absence: never cache them as such, or a healed source stays unseen",
		}
	case Backoff:
		return []string{"the figure holds at the end of an outage longer than the cap; a shorter one ends with shorter pauses", "a constant pause of one process each, drawn once at the start, is no jitter: draw it for each attempt"}
	case RunOnce:
		return []string{"a claim in the memory of each replica does not count: it must be shared, and outlive a deploy"}
	default:
		return nil
	}
}

func jitterCaveats(c Case) []string {
	var out []string
	if c.Deploy || c.Kind == ColdStart {
		out = append(out, "a deploy that changes the form of keys empties the cache: do it at low traffic and warm the hottest keys first")
	}
	if c.TTLAtLeast && c.TTL > 0 {
		out = append(out, fmt.Sprintf("the TTL is not known, only that it is at least %s: the effect is at least as good", secs(c.TTL)))
	}
	return out
}

func lockCaveats(c Case) []string {
	out := []string{"release it by compare-and-delete: a plain DEL after the lease has run out deletes the next owner's lock"}
	if n := c.waiters(); n >= manyWaiters {
		out = append(out, fmt.Sprintf("about %s wait: if they poll they fill the connection pool; serve them the old value instead", count(n, "callers")))
	}
	return out
}

// manyWaiters is the number from which waiters that poll fill a usual pool.
const manyWaiters = 20

// waiters is how many callers wait for one load, about.
func (c Case) waiters() float64 { return math.Max(c.hotKey().Copies()-1, c.AtOnce-1) }

func warmCaveats(c Case) []string {
	out := []string{"give the keys random TTLs while warming up, or they die together one TTL later"}
	if c.Deploy {
		out = append(out, "a deploy that changes the form of keys is a cold start at rush hour: do it at low traffic")
	}
	return out
}

// conflicts are the settings seen that work against a remedy.
func conflicts(c Case, r Remedy) []Conflict {
	if r.Helps == No {
		return nil
	}
	var out []Conflict
	add := func(setting, why, instead string) {
		out = append(out, Conflict{Remedy: r.Name, Setting: setting, Why: why, Instead: instead})
	}
	policy := "maxmemory-policy " + c.Policy
	switch r.Name {
	case Lock, RunOnce:
		if c.evicts() {
			what := "the lock"
			if r.Name == RunOnce {
				what = "the claim"
			}
			if c.LocksBesideBlobs {
				what += ", like the locks that are there already,"
			}
			add(policy, what+" may be evicted while it is held, so that a second owner starts", "keep locks and claims in a store with noeviction, apart from cached values")
		}
		if r.Name == Lock && c.LockTTL > 0 && c.LockTTL < c.slowest() {
			add(fmt.Sprintf("a lock that lives for %s", secs(c.LockTTL)),
				fmt.Sprintf("a load takes up to %s: the lock is gone before it has finished, and a second caller starts", secs(c.slowest())),
				fmt.Sprintf("a lease of %s", secs(c.lease())))
		}
	case ServeStale:
		if c.evicts() {
			add(policy, "old copies are evicted when memory is full, and then readers miss as before", "size the memory for the longer expiry, and keep one load a key for those that are gone")
		}
	case Jitter:
		if c.PinnedTo != "" {
			add("deadlines set to "+c.PinnedTo, "a random TTL changes nothing while the deadline is a time of day", "add a random time to the deadline itself")
		}
	}
	return out
}

// evicts tells whether the policy may evict keys that have a TTL.
func (c Case) evicts() bool { return c.Policy != "" && c.Policy != "noeviction" }

func seconds(s float64) time.Duration { return time.Duration(math.Min(s, 1e8) * float64(time.Second)) }
