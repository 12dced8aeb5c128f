package ttlhist

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// SampleKeys returns a few keys of each group, up to limit in all, the largest
// groups first: to ask the cache for their type and idle time.
func (s *Summary) SampleKeys(limit int) [][]byte {
	groups := slices.SortedFunc(maps.Values(s.groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.keys, a.keys), cmp.Compare(a.pattern, b.pattern))
	})
	var names [][]byte
	for _, g := range groups {
		for _, k := range g.sample {
			if k.Name != nil && len(names) < limit {
				names = append(names, k.Name)
			}
		}
	}
	return names
}

// ObserveLife adds the remaining and the idle time of one key, as evidence for
// the TTL of its group: for a key that was not read since it was written the
// two add up to its TTL; for others to less. A short idle time is no evidence
// and is left out.
func (s *Summary) ObserveLife(name []byte, left, idle time.Duration) {
	s.prepare()
	g := s.find(name)
	g.addLife(left, idle)
	s.fit(g)
}

// ObserveType adds the type of one key that Add counted without a type.
func (s *Summary) ObserveType(name []byte, typ string) {
	s.prepare()
	s.find(name).addType(typ, 1)
}
