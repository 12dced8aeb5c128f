package ttlhist

import "time"

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
