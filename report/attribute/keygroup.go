package attribute

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/ttlhist"
)

// A keyGroup is the keys of one pattern of one cache.
type keyGroup struct {
	cache    int
	snapshot time.Time
	*ttlhist.Group
	words []string
	cross int // position of the herd across patterns that it belongs to, in the cache's findings; -1: none
}

// keyGroups lists the groups whose death makes somebody ask a database again.
func (a *analyser) keyGroups() []keyGroup {
	var out []keyGroup
	for c := range a.Caches {
		an := a.Caches[c].Analysis
		harmless, cross := map[string]bool{}, map[string]int{}
		for i, f := range an.Findings {
			switch {
			case f.Rule != "HS401":
			case len(f.Patterns) > 1:
				for _, p := range f.Patterns {
					cross[p] = i
				}
			case f.Severity == rule.Note:
				harmless[f.Subject] = true // counters and the like: nothing refills them
			}
		}
		for i := range an.Groups {
			g := &an.Groups[i]
			if g.WithTTL == 0 || harmless[g.Pattern] || !refills(g.Kind) {
				continue
			}
			k := keyGroup{cache: c, snapshot: an.Snapshot, Group: g, words: splitWords(g.Pattern), cross: -1}
			if at, ok := cross[g.Pattern]; ok {
				k.cross = at
			}
			out = append(out, k)
		}
	}
	return out
}

// refills says whether somebody computes such keys again.
func refills(k ttlhist.Kind) bool {
	return k == ttlhist.Data || k == ttlhist.Cache || k == ttlhist.Session
}

// herds says whether the cache shows the keys as a herd, or a part of one.
func (k *keyGroup) herds() bool { return len(k.Teeth) > 0 || k.cross >= 0 }

// A ttlGuess is a time to live that a group may have.
type ttlGuess struct {
	ttl   float64 // seconds
	known bool    // the cache's own evidence carries it
	other bool    // that evidence, such as it is, rather speaks for another one
}

// ttls are the times to live that could bring a group's keys back with a
// period: the known one, or the usual ones just below it.
func (k *keyGroup) ttls(s *subject) []ttlGuess {
	guesses := usualTTLs(s, k.Base.AtLeast.Seconds())
	switch t := k.Base.TTL.Seconds(); {
	case t == 0:
		return guesses
	case k.sure():
		return []ttlGuess{{ttl: t, known: true}}
	default:
		for i := range guesses {
			guesses[i].other = true
		}
		return append([]ttlGuess{{ttl: t, known: true}}, guesses...)
	}
}

// sure says whether the cache's own evidence for a TTL leaves no other. The
// shape of the remaining times is no such evidence: that of a herd deceives.
func (k *keyGroup) sure() bool {
	return k.Base.From != ttlhist.LikelihoodFit && k.Base.From != ttlhist.LongestLeft
}

// usualTTLs are the times to live that people write, at or just below the
// period and not below least: the nearest comes first.
func usualTTLs(s *subject, least float64) []ttlGuess {
	var out []ttlGuess
	for _, d := range slices.Backward(comb.HumanDurations()) {
		t := d.Seconds()
		if t > s.period+s.slack() {
			continue
		}
		if t < least-s.res || s.period-t > s.mostRest(t)+s.slack() {
			break
		}
		out = append(out, ttlGuess{ttl: t})
	}
	return out
}

// mostRest is the longest time that may pass between the death of a key and
// the refill that counts.
func (s *subject) mostRest(ttl float64) float64 {
	return max(3, min(30, 0.03*ttl), 3*s.rebuild())
}

// slack is how much the period may be off.
func (s *subject) slack() float64 {
	return max(3*s.perErr, s.res/s.steps)
}

// A fit says how the expiries of a group lie to the teeth of a herd.
type fit struct {
	nats   float64 // for the group, above 0, or against it
	share  float64 // of its keys that expire in a tooth
	keys   uint64
	tooth  time.Time // the tooth in or after the log that most of them die in
	ahead  bool      // that tooth comes after the log
	births bool      // measured at the times of writing instead of those of expiry
}

const (
	inTooth = 0.8 // share of a herd's keys that die in its teeth
	mostFit = 8.0 // nats against, at most: keys are not independent of each other
)

// fitTo compares the expiries of a group, or with a known TTL its births, with
// the teeth: where they are in the log, and where they must come after it.
// It is false when the phases can't be compared.
func (k *keyGroup) fitTo(s *subject, ttl float64) (fit, bool) {
	now, ok := k.phase(s, 0)
	if ttl > 0 && (!ok || now.nats < 0) {
		born, bornOK := k.phase(s, ttl)
		born.births = true
		if bornOK && (!ok || born.nats > now.nats) {
			return born, true
		}
	}
	return now, ok
}

// phase compares the expiries, moved back by some seconds, with the teeth.
func (k *keyGroup) phase(s *subject, back float64) (fit, bool) {
	var inside, all, expected float64
	teeth := map[float64]uint64{}
	binWidth := k.Bin.Seconds()
	for _, b := range k.Expiries() {
		at := time.UnixMilli(b.At).Sub(s.start).Seconds() + binWidth/2 - back
		onset, tol, ok := s.toothAt(at)
		if !ok {
			continue
		}
		tol += binWidth / 2
		if back > 0 {
			tol += s.rebuild() + 1
		}
		window := s.width + 2*tol
		if window > 0.6*s.period {
			continue
		}
		n := float64(b.Count)
		all += n
		expected += n * window / s.period
		if at >= onset-tol && at <= onset+s.width+tol {
			inside += n
			teeth[onset] += b.Count
		}
	}
	if all == 0 || all < 0.5*float64(k.WithTTL) {
		return fit{}, false
	}
	q, f := expected/all, inside/all
	n := min(all, 400)
	nats := n * (f*math.Log(inTooth/q) + (1-f)*math.Log((1-inTooth)/(1-q)))
	once := math.Log(1/q) + 1 // the keys were written together or not: they are one witness, not many
	out := fit{nats: max(-mostFit, min(once, nats)), share: f, keys: uint64(inside)}
	var most uint64
	var best float64
	for onset, count := range teeth {
		if count > most || count == most && onset < best {
			most, best = count, onset
		}
	}
	out.tooth, out.ahead = s.time(best), best > s.span
	return out, true
}

// toothAt returns the tooth nearest to an instant: one of the log, or one that
// its period puts before or after it, and how far off it may be. It is false
// where the error grows beyond use, and where the log is shorter than the time to
// bridge: who knows whether the herd lived so long.
func (s *subject) toothAt(at float64) (onset, tol float64, ok bool) {
	base := max(s.res, 2*s.spread)
	first, last := s.onsets[0], s.onsets[len(s.onsets)-1]
	near, n := 0.0, 0.0
	switch {
	case at > last+s.period/2:
		n = math.Round((at - s.width/2 - last) / s.period)
		near = last + n*s.period
	case at < first-s.period/2:
		n = math.Round((first - at + s.width/2) / s.period)
		near = first - n*s.period
	default:
		i, _ := slices.BinarySearch(s.onsets, at)
		near = s.onsets[min(i, len(s.onsets)-1)]
		if i > 0 && at-s.onsets[i-1]-s.width < near-at {
			near = s.onsets[i-1]
		}
	}
	tol = base + 2*n*s.perErr + math.Sqrt(n)*s.spread
	return near, tol, tol < s.period/4 && n <= max(4, s.steps)
}

// expiring counts the keys that expire from one time to before another.
func (k *keyGroup) expiring(from, to time.Time) (n uint64) {
	bins := k.Expiries()
	i, _ := slices.BinarySearchFunc(bins, from.UnixMilli(), func(b comb.ExpiryBin, t int64) int { return cmp.Compare(b.At, t) })
	for ; i < len(bins) && bins[i].At < to.UnixMilli(); i++ {
		n += bins[i].Count
	}
	return n
}
