package ttlhist

import "time"

// ObserveLife adds the remaining plus the idle time of one key, as evidence
// for the TTL of its group: for a key that was not read since it was written
// the two add up to its TTL; for others to less.
func (s *Summary) ObserveLife(name []byte, life time.Duration) {
	s.prepare()
	g := s.find(name)
	g.lives.raise(secondLevel)
	g.lives.add(life.Milliseconds(), 1)
	s.fit(g)
}

// ObserveType adds the type of one key that Add counted without a type.
func (s *Summary) ObserveType(name []byte, typ string) {
	s.prepare()
	s.find(name).addType(typ, 1)
}
