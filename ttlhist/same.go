package ttlhist

// A Likeness says what two looks have in common, each as a share (0..1) of the
// one with fewer.
//
// Samples are chosen by hash, so that two looks at one cache sample the same
// keys, while shards of one keyspace share none. Caches of one application in
// two places have the same keys with other deadlines. It needs no names: saved
// summaries will do.
type Likeness struct {
	Keys      float64 // of the sampled keys; 0 where nothing was sampled
	Deadlines float64 // of the deadlines; 1 where one of them has none
}

// Compare returns what two summaries have in common.
func Compare(a, b *Summary) Likeness {
	return Likeness{Keys: sharedSample(a, b), Deadlines: sharedDeadlines(a, b)}
}

// sharedSample is the share of the sampled keys that are in both, of the
// smaller sample; 0 where nothing was sampled.
func sharedSample(a, b *Summary) float64 {
	small, large := a.sampledHashes(), b.sampledHashes()
	if len(small) > len(large) {
		small, large = large, small
	}
	if len(small) == 0 {
		return 0
	}
	shared := 0
	for h := range small {
		if large[h] {
			shared++
		}
	}
	return float64(shared) / float64(len(small))
}

func (s *Summary) sampledHashes() map[uint64]bool {
	out := map[uint64]bool{}
	for _, g := range s.groups {
		for _, k := range g.sample {
			out[k.Hash] = true
		}
	}
	return out
}

// sharedDeadlines is the share of the deadlines that are in both, of the look
// with fewer of them; 1 where one of them has none.
func sharedDeadlines(a, b *Summary) float64 {
	var shared, na, nb uint64
	for pattern, g := range a.groups {
		na += g.expiry.n
		if h := b.groups[pattern]; h != nil {
			shared += g.expiry.common(&h.expiry)
		}
	}
	for _, g := range b.groups {
		nb += g.expiry.n
	}
	if na == 0 || nb == 0 {
		return 1
	}
	return float64(shared) / float64(min(na, nb))
}

// common counts the deadlines that two histograms share, in the wider of their
// bins.
func (h *histogram) common(o *histogram) (n uint64) {
	width := binWidths[max(h.level, o.level)]
	counts := map[int64]uint64{}
	for _, b := range h.sorted() {
		counts[b.At/width] += b.Count
	}
	others := o.sorted()
	for i := 0; i < len(others); {
		bin, sum := others[i].At/width, uint64(0)
		for ; i < len(others) && others[i].At/width == bin; i++ {
			sum += others[i].Count
		}
		n += min(sum, counts[bin])
	}
	return n
}
