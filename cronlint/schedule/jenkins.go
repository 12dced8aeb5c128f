package schedule

import (
	"crypto/md5"
	"encoding/binary"
	"strings"
)

// hashLimit is the greatest value that H takes in a field; a day of the month
// stays within the shortest month.
func hashLimit(u Unit) int {
	if u == UnitDom {
		return 28
	}
	return unitMax[u]
}

// hashBody reads what follows H: nothing, or a range in parentheses.
func (p *fieldParser) hashBody(rest string, t *Term) *ParseError {
	t.Kind, t.Lo, t.Hi = TermHash, p.min(), hashLimit(p.unit)
	if rest == "" {
		return nil
	}
	inner, ok := strings.CutPrefix(rest, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	lo, hi, isRange := strings.Cut(inner, "-")
	if !ok || !closed || !isRange {
		return errorAt(t.Start, t.End, "H takes a range in parentheses: H(0-29)")
	}
	var err *ParseError
	if t.Lo, err = p.value(lo, t.Start+2); err != nil {
		return err
	}
	if t.Hi, err = p.value(hi, t.Start+3+len(lo)); err != nil {
		return err
	}
	if t.Lo > t.Hi {
		return errorAt(t.Start, t.End, "%s range %s runs backwards", p.unit, inner)
	}
	return nil
}

// hashed is the set of an H term. Without a job's name it holds the least
// values that the hash can give.
func (p *fieldParser) hashed(t Term) (set uint64) {
	next := func(int) int { return 0 }
	if p.hash != nil {
		next = p.hash.next
	}
	if t.Step == 1 {
		return p.fold(1 << (t.Lo + next(t.Hi-t.Lo+1)))
	}
	for v := t.Lo + next(t.Step); v <= t.Hi; v += t.Step {
		set |= 1 << v
	}
	return p.fold(set)
}

// javaRandom is java.util.Random, a 48-bit linear congruential generator.
type javaRandom struct{ seed uint64 }

const (
	javaMultiplier = 0x5DEECE66D
	javaMask       = 1<<48 - 1
)

// newJenkinsHash seeds the generator as Jenkins does (hudson.scheduler.Hash):
// the MD5 of the job's full name, folded to 64 bits.
func newJenkinsHash(job string) *javaRandom {
	sum := md5.Sum([]byte(job))
	seed := binary.BigEndian.Uint64(sum[:8]) ^ binary.BigEndian.Uint64(sum[8:])
	return &javaRandom{seed: (seed ^ javaMultiplier) & javaMask}
}

func (r *javaRandom) bits(n uint) int32 {
	r.seed = (r.seed*javaMultiplier + 0xB) & javaMask
	return int32(r.seed >> (48 - n))
}

// next is Random.nextInt(bound).
func (r *javaRandom) next(bound int) int {
	b := int32(bound)
	if b&-b == b {
		return int(int64(b) * int64(r.bits(31)) >> 31)
	}
	for {
		v := r.bits(31)
		if rest := v % b; v-rest+(b-1) >= 0 { // overflow rejects the uneven tail
			return int(rest)
		}
	}
}
