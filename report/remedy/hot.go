package remedy

import (
	"fmt"
	"math"

	"github.com/herdscan/herdscan/comb"
)

// shared is the number of copies of each key from which sharing a load is worth
// a word.
const shared = 1.5

// coalesce lets one caller of each process load a key.
func coalesce(c Case) Remedy {
	r := Remedy{Name: Coalesce, Text: "let one caller in each process load a key while the others wait for its result (single-flight)"}
	if c.Lang == "php" {
		r.Text = "let one process of each host load a key while the others wait for its result (a lock on a file)"
	}
	if c.Write {
		r.Helps, r.Why = No, "these statements change data: each one counts"
		return r
	}
	switch c.Kind {
	case RetryStorm:
		r.Helps, r.Why = No, "the clients are apart from each other: no process sees the others' attempts"
		return r
	case MissingKey:
		r.Helps, r.Why = No, "it joins questions of one moment only; these come again and again"
		return r
	}
	m := c.multiplicity()
	if !c.hot() && m < shared {
		r.Helps, r.Why = No, fmt.Sprintf("%s are asked for about once each: there is nothing to share", differentKeys(c.Keys))
		return r
	}
	r.Why = "all callers of a process but one wait for the one that loads"
	if c.Processes <= 0 {
		r.Helps = Yes
		if c.many() && c.hot() {
			r.Helps = Partly
		}
		r.Why += "; one query a process remains, and how many processes ask is not known"
		return r
	}
	hot := c.hotAfter(c.hotKey().Coalesce().PeakAfter)
	c.weighHot(&r, c.keysShared(float64(c.Processes)), hot)
	r.Why += fmt.Sprintf("; one query a process remains, of %s seen", count(float64(c.Processes), "clients"))
	return r
}

// hotAfter is what is left of the hot part; nothing where there is none.
func (c Case) hotAfter(n float64) float64 {
	if !c.hot() {
		return 0
	}
	return n
}

// keysShared is what is left of the many keys' busiest second when at most n
// callers load each.
func (c Case) keysShared(n float64) float64 {
	wave, _ := c.parts()
	m := c.multiplicity()
	return wave * math.Min(n, m) / m
}

// weighHot predicts a remedy that leaves wave and hot of the busiest second.
func (c Case) weighHot(r *Remedy, wave, hot float64) {
	waveBefore, hotBefore := c.parts()
	if c.before() <= 0 {
		r.Helps = Yes
		return
	}
	r.Effect = c.effect(wave + hot)
	part := comb.Effect{PeakBefore: hotBefore, PeakAfter: hot}
	if !c.hot() {
		part = comb.Effect{PeakBefore: waveBefore, PeakAfter: wave}
	}
	r.Helps = c.layered(part)
	if r.Helps == No {
		r.Why = fmt.Sprintf("it leaves %s of %s", num(hot+wave), rate(c.before(), c.unit()))
		return
	}
	r.Curve = c.curve(
		plus(burst(waveBefore, c.Keys*c.multiplicity(), c.Width), c.copiesCurve(hotBefore)),
		plus(burst(wave, c.Keys*math.Min(c.multiplicity(), math.Max(wave, 1)), c.Width), []float64{hot}), 0, 0)
}

// serveStale answers with the old value while one caller refreshes.
func serveStale(c Case) Remedy {
	r := Remedy{Name: ServeStale, Text: fmt.Sprintf("answer with the old value while one caller refreshes it: keep it %s past its expiry and no longer", secs(c.bound()))}
	word, exact := c.mustBeExact()
	switch {
	case c.Write:
		r.Helps, r.Why = No, "these statements change data: each one counts"
	case exact:
		r.Helps, r.Why = No, fmt.Sprintf("the name says %q: a value that must not be old", word)
	case c.Kind == ColdStart:
		r.Helps, r.Why = No, "an empty cache has no old value to serve"
	case c.hot() || c.multiplicity() >= shared:
		r.Why = "nobody waits, and one query of all processes remains"
		c.weighHot(&r, c.keysShared(1), c.hotAfter(c.hotKey().ServeStale().PeakAfter))
	default:
		r.Helps = Partly
		r.Why = fmt.Sprintf("nobody waits, but %s are still computed again in the same moment unless their expiries are spread too", differentKeys(c.Keys))
		r.Effect = c.effect(c.before())
	}
	return r
}

// lock lets one caller of all processes load a key.
func lock(c Case) Remedy {
	r := Remedy{Name: Lock, Text: fmt.Sprintf("let one caller of all processes load a key: a lock in Redis with a lease of %s, released only by its owner", secs(c.lease()))}
	switch {
	case c.Write:
		r.Helps, r.Why = No, "these statements change data: each one counts"
		return r
	case !c.hot() && c.multiplicity() < shared:
		r.Helps, r.Why = No, fmt.Sprintf("%s need as many locks, and each is loaded once anyway", differentKeys(c.Keys))
		return r
	}
	c.weighHot(&r, c.keysShared(1), c.hotAfter(c.hotKey().Lock().PeakAfter))
	if r.Helps != No {
		r.Why = "one query remains; needed only where many processes ask and the source can't bear one query from each"
		if c.slowest() > 0 {
			r.Why += fmt.Sprintf("; the lease is above the slowest load seen, %s", secs(c.slowest()))
		}
	}
	return r
}

// Numbers of XFetch.
const (
	beta       = 1.0
	fewReaders = 2.0 // that come during one load: fewer do not refresh early, nor stampede
)

// earlyRefresh lets readers refresh by chance before the expiry.
func earlyRefresh(c Case) Remedy {
	r := Remedy{Name: EarlyRefresh, Text: "let readers of the few hottest keys refresh them by chance shortly before they expire (XFetch)"}
	readers := c.hotKey().Copies() - 1
	word, exact := c.mustBeExact()
	switch {
	case c.Write:
		r.Helps, r.Why = No, "these statements change data: each one counts"
	case c.Kind == ColdStart:
		r.Helps, r.Why = No, "an empty cache has no expiry yet to be early for"
	case !c.hot():
		r.Helps, r.Why = No, fmt.Sprintf("it needs many readers of each key; %s have few", differentKeys(c.Keys))
	case c.copies() <= 0:
		r.Helps, r.Why = Partly, "for keys that are read many times during one load, and only for those; how often these are read is not known"
	case readers < fewReaders:
		r.Helps, r.Why = No, fmt.Sprintf("only %.1f readers come during one load: at such traffic nothing is refreshed early, and there is no stampede either", readers)
	default:
		c.weighHot(&r, c.keysShared(c.multiplicity()), c.hotKey().EarlyRefresh(beta).PeakAfter)
		if r.Helps != No {
			r.Why = "subtler than one load a key, and wrong settings refresh needlessly: worth it for the top 20 keys or so"
			if exact {
				r.Why += fmt.Sprintf("; the name says %q: a refresh makes it younger, not exact", word)
			}
		}
	}
	return r
}

// differentKeys names the keys of a wave.
func differentKeys(n float64) string {
	if n <= 0 {
		return "different keys"
	}
	return count(n, "different keys")
}
