package attribute

import (
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/cronlint"
)

// warmUps weighs a job that fires with the teeth as one that writes keys, for
// each group of keys, and for keys that are not known.
func (a *analyser) warmUps(s *subject, j *job) []Suspect {
	bare := j.newSuspect(s, WarmUp)
	a.weighFires(s, &bare, j)
	if len(a.Caches) > 0 {
		bare.say(-14, "the cache shows no keys that it writes")
	} else {
		bare.say(-8, "no cache was given that shows keys that it writes")
	}
	if w := warms(bare.Entries[0]); w != "" {
		bare.say(5, "its command speaks of it (%s)", w)
	}
	s.weighMisses(&bare)
	out := []Suspect{bare}
	for i := range a.groups {
		k := &a.groups[i]
		ttl, share, ok := k.bornBy(j)
		if !ok {
			continue
		}
		f, comparable := k.fitTo(s, 0)
		if !comparable || f.nats < faint {
			continue
		}
		c := j.newSuspect(s, WarmUp)
		a.weighFires(s, &c, j)
		s.weighMisses(&c)
		c.Cache, c.Patterns, c.TTL = k.cache, []string{k.Pattern}, ttl
		c.Name = fmt.Sprintf("%s writes %s", c.Name, k.Pattern)
		c.fits = true
		c.say(f.nats, "%d of the %d keys of %s expire in the tooth of %s", f.keys, k.WithTTL, k.Pattern, a.when(f.tooth))
		c.say(3, "%.0f %% of them were written at a fire, with a TTL of %s", 100*share, dur(ttl))
		if nats, alike := s.words.match(k.words); nats > 0 {
			c.say(nats, "the keys' name is like the statement's (%s)", list(alike, 3))
		}
		out = append(out, c)
	}
	return out
}

var warmWords = regexp.MustCompile(`(?i)warm|cache|prime|preload|prefetch|refresh|regenerat|rebuild`)

// warms returns the word by which a job says that it fills a cache.
func warms(e *cronlint.Entry) string {
	return warmWords.FindString(e.Command + " " + cronlint.JobName(e))
}

// bornBy returns the time to live with which a job would have written most of
// a group's keys at its fires.
func (k *keyGroup) bornBy(j *job) (ttl time.Duration, share float64, ok bool) {
	if j.counts || len(j.fires) < 2 {
		return 0, 0, false
	}
	var guesses []time.Duration
	if k.Base.TTL > 0 {
		guesses = append(guesses, k.Base.TTL)
	}
	if k.Base.TTL == 0 || !k.sure() {
		for _, d := range comb.HumanDurations() {
			if d >= k.Base.AtLeast-time.Second && d <= 4*k.Base.AtLeast && j.interval > 0 && d%j.interval == 0 {
				guesses = append(guesses, d)
			}
		}
	}
	for _, d := range guesses {
		if s := k.shareBorn(j, d); s >= 0.6 && s > share {
			ttl, share = d, s
		}
	}
	return ttl, share, share > 0
}

// shareBorn is the share of a group's keys that were written within a short
// time at one distance after a fire, given their time to live.
func (k *keyGroup) shareBorn(j *job, ttl time.Duration) float64 {
	const window = 10 // seconds
	var counts [int(mostLag)/window + 2]float64
	var all float64
	next := 0
	for _, b := range k.Expiries() {
		born := time.UnixMilli(b.At).Add(-ttl)
		for next < len(j.fires) && !j.fires[next].After(born.Add(time.Second)) {
			next++
		}
		all += float64(b.Count)
		if next == 0 {
			continue
		}
		lag := born.Sub(j.fires[next-1]).Seconds()
		if lag <= mostLag {
			counts[int(math.Max(lag, 0))/window] += float64(b.Count)
		}
	}
	best := 0.0
	for i := range len(counts) - 1 {
		best = math.Max(best, counts[i]+counts[i+1])
	}
	return best / math.Max(all, 1)
}
