package spread

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// Options say what is spread and how far.
type Options struct {
	Pattern     string             // as ttl prints it: "session:*"
	Jitter      float64            // part of the time to live by which a key may die earlier, above 0 to 1; 0: as Target needs
	Target      float64            // most keys of the pattern in one second; 0: as Jitter gives
	AllowLonger bool               // keys may also die later
	Margin      time.Duration      // no new expiry is nearer than this and the time that writing takes
	Kinds       []ttlhist.KindRule // the user's own rules about what keys are for
	Rate        float64            // keys a second that will be written; 0: at least 20,000
	Seed        uint64             // decides in which order keys die that died in one instant
}

// usualRate is what a server takes at least, in keys a second, at half of its
// time.
const usualRate = 20_000

// A Plan says which keys get which expiry, and what that does.
type Plan struct {
	Options
	Kind    ttlhist.Kind
	KindWhy string
	Now     time.Time     // by the server's clock, when the keys were read
	Floor   time.Time     // Now, Margin and Writing: no new expiry is earlier
	Writing time.Duration // estimate

	Keys    uint64 // of the pattern, with a TTL
	NoTTL   uint64 // of the pattern, never touched
	Guarded uint64 // joined to the pattern, but locks, queues or counters by their own names: never touched
	Unknown uint64 // counted to the pattern's row, but not recognised as its keys: not touched

	TTL      time.Duration // that Jitter is a part of
	TTLKnown bool          // else TTL is the longest remaining time, which is no longer than it
	Teeth    []Tooth       // ahead, in order of time
	Changes  []scan.Change // by new expiry, the earliest first
	Missed   uint64        // keys in teeth that come before Floor: too late for them

	Before, After       Load // of the pattern
	AllBefore, AllAfter Load // of all patterns whose death makes somebody refill them
	Reached             bool // After is at most Target; true without one
	Why                 string

	EarlierMost time.Duration // most that one key's life is shortened by
	EarlierMean time.Duration // mean over Changes; negative if lives get longer
	LaterMost   time.Duration // most that one key's life is lengthened by
}

// A Tooth is one tooth of the pattern, and where its keys go.
type Tooth struct {
	ttlhist.Tooth
	From time.Time // earliest new expiry; zero: the tooth is left as it is
	To   time.Time // latest new expiry
	Move uint64    // keys that get a new expiry
}

// A Load is how the keys of one set expire.
type Load struct {
	Busiest uint64 // most keys within any one second
	At      time.Time
	Seconds []Second // in which any key expires, in order
}

// A Second is the largest number of keys that expire within one second that
// begins in the second from At (Unix ms) on.
type Second struct {
	At   int64
	Keys uint64
}

// mayTouch tells whether keys of a kind may be spread. Locks, queues and
// counters mean something by the time of their death.
func mayTouch(k ttlhist.Kind) bool {
	return k == ttlhist.Data || k == ttlhist.Cache || k == ttlhist.Session
}

// A RefusedError says why the keys of a pattern are not touched.
type RefusedError struct{ Pattern, Why string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Pattern + " is not touched: " + e.Why }

// A PatternError says that no key has the pattern. Near are patterns that
// some keys have, the largest first.
type PatternError struct {
	Pattern string
	Near    []string
}

// Error implements error.
func (e *PatternError) Error() string { return "no key has the pattern " + e.Pattern }

// maxChanges bounds the memory of a plan and of its log.
const maxChanges = 20_000_000

// Plan works out what to do with the keys that were collected, given the
// analysis of all keys of the same reading, which ended at now by the server's
// clock. A plan without Changes says Why. The error is a *PatternError or a
// *RefusedError.
func (c *Collector) Plan(a *ttlhist.Analysis, now time.Time) (*Plan, error) {
	row := rowOf(a, c.opts.Pattern)
	if row == nil {
		return nil, &PatternError{c.opts.Pattern, largest(a)}
	}
	p := &Plan{Options: c.opts, Kind: row.Kind, KindWhy: row.KindWhy, Now: now, NoTTL: c.noTTL, Guarded: c.guarded, Reached: true}
	if err := p.refuse(a, row); err != nil {
		return nil, err
	}
	var keys []collected
	keys, p.Unknown = c.settle(row)
	p.Keys = uint64(len(keys))
	if p.TTL, p.TTLKnown = row.Base.TTL, row.Base.TTL > 0; !p.TTLKnown {
		p.TTL = row.Base.AtLeast
	}
	b := newBoard(c, keys, p)
	p.Before = b.load()
	p.After, p.AllBefore = p.Before, p.allKeys(a)
	p.AllAfter = p.AllBefore
	if p.Why = b.findTeeth(row); p.Why != "" {
		return p, nil
	}
	p.Writing = time.Duration(float64(p.inTeeth()) / cmp.Or(p.Rate, usualRate) * float64(time.Second))
	p.Floor = p.Now.Add(p.Margin + p.Writing)
	if p.Why = b.choose(); p.Why != "" {
		return p, nil
	}
	if len(p.Changes) > maxChanges {
		return nil, &RefusedError{p.Pattern, fmt.Sprintf("its teeth hold %d keys, more than the %d that a plan may have; a lower jitter does not change that, a longer pattern does", len(p.Changes), maxChanges)}
	}
	p.AllAfter = p.allAfter(a)
	return p, nil
}

// inTeeth counts the keys of the teeth ahead.
func (p *Plan) inTeeth() (n uint64) {
	for i := range p.Teeth {
		n += p.Teeth[i].Keys
	}
	return n
}

func rowOf(a *ttlhist.Analysis, pattern string) *ttlhist.Group {
	i := slices.IndexFunc(a.Groups, func(g ttlhist.Group) bool { return g.Pattern == pattern })
	if i < 0 {
		return nil
	}
	return &a.Groups[i]
}

// largest names the largest patterns with a TTL.
func largest(a *ttlhist.Analysis) []string {
	const most = 5
	var names []string
	for i := range a.Groups {
		if g := &a.Groups[i]; g.WithTTL > 0 && len(names) < most {
			names = append(names, g.Pattern)
		}
	}
	return names
}

// refuse returns an error for keys whose expiry must stay.
func (p *Plan) refuse(a *ttlhist.Analysis, row *ttlhist.Group) error {
	if !mayTouch(row.Kind) {
		meaning := map[ttlhist.Kind]string{
			ttlhist.LockKey: "the death of a lock opens it, and two workers are in",
			ttlhist.Queue:   "the death of an entry is a lost job",
			ttlhist.Counter: "the death of a counter ends its window, and the limit is counted anew",
		}[row.Kind]
		return &RefusedError{p.Pattern, fmt.Sprintf("it is a %s (%s); %s. If it is a cache, say so: --kind cache=REGEXP", row.Kind, row.KindWhy, meaning)}
	}
	if row.Kind != ttlhist.Data {
		return nil
	}
	for _, f := range a.Findings {
		if f.Rule == "HS401" && f.Subject == p.Pattern && f.Severity < rule.Warning {
			return &RefusedError{p.Pattern, f.Why + " If it is a cache, say so: --kind cache=REGEXP"}
		}
	}
	return nil
}

// Sample returns up to n of the keys to be changed, spread over the plan.
func (p *Plan) Sample(n int) []scan.KeyRef {
	step := max(1, len(p.Changes)/max(n, 1))
	var refs []scan.KeyRef
	for i := 0; i < len(p.Changes) && len(refs) < n; i += step {
		refs = append(refs, p.Changes[i].KeyRef)
	}
	return refs
}

// CheckTypes returns a *RefusedError if some of the keys are lists or streams,
// which are queues more often than caches. A rule of the user's that calls the
// pattern a cache, session or data overrules it.
func (p *Plan) CheckTypes(details []scan.Detail) error {
	for _, r := range p.Kinds {
		if r.Match.MatchString(p.Pattern) {
			return nil
		}
	}
	for _, d := range details {
		if d.Type == "list" || d.Type == "stream" {
			return &RefusedError{p.Pattern, fmt.Sprintf("some of its keys are of type %s, as queues are. If it is a cache, say so: --kind cache=REGEXP", d.Type)}
		}
	}
	return nil
}

// inexact is how far an expiry read by PTTL may be from the true one.
const inexact = 5 // ms

// Sharpen replaces the old expiries by exact ones, in the order of Changes:
// for servers whose expiries are read to some milliseconds only. It returns
// how many keys were written meanwhile and left the plan.
func (p *Plan) Sharpen(exact []int64) (left int) {
	kept := p.Changes[:0]
	for i, c := range p.Changes {
		if d := exact[i] - c.Old; d < -inexact || d > inexact || exact[i] == c.New {
			left++
			continue
		}
		c.Old = exact[i]
		if !p.AllowLonger && c.New >= c.Old {
			left++
			continue
		}
		kept = append(kept, c)
	}
	p.Changes = kept
	return left
}

// order is the place of a key among those that died in one instant.
func order(name []byte, seed uint64) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(seed)
	_, _ = d.Write(name) // it never fails
	return d.Sum64()
}

func compareSeconds(a, b Second) int { return cmp.Compare(a.At, b.At) }
