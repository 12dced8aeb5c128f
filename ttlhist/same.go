package ttlhist

// SharedSample tells how many of the keys that both summaries sampled are the
// same, as a share of the smaller sample, 0..1. Samples are chosen by hash, so
// that two looks at one cache sample the same keys, while shards of one
// keyspace share none. It needs no names: saved summaries will do. 0 is also
// the answer where nothing was sampled.
func SharedSample(a, b *Summary) float64 {
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
