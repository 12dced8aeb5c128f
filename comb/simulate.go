package comb

import (
	"math"
	"math/rand/v2"
)

// maxMisses bounds the misses that a simulation plays, and so its time and
// memory.
const maxMisses = 3_000_000

// Simulate plays a mechanism. The same Mechanism gives the same Simulation.
//
// Reads of a key are a Poisson process, so the time from any moment to the next
// read does not depend on the past: reads that find a fresh value are passed
// over without a loss, and each read that does not is played.
func Simulate(m Mechanism) Simulation {
	s := newSimulator(m)
	for s.step() {
	}
	return s.result()
}

// simulator is the state of a simulation. Times are in seconds.
type simulator struct {
	Mechanism
	rand     *rand.Rand
	rates    []float64 // reads per second of each key
	ahead    agenda
	outside  []disturbance
	using    []*cache // by process
	deployed []*cache // by deploy; nil before its first process
	database database
	minutes  minutes
	now, end float64
	out      Simulation
}

// cache is one set of values.
type cache struct {
	values []value
	users  int // processes
}

// value is one key of a cache.
type value struct {
	cache    *cache
	key      int
	expires  float64 // 0: there is none
	usable   float64 // until when ServeStale may use it
	took     float64 // to compute it
	busy     int     // rebuilds that run
	done     float64 // when the latest of them is done
	flights  []flight
	schedule uint32 // number of the planned read that counts
}

// flight is a rebuild that readers of one process wait for.
type flight struct {
	process int
	done    float64
}

func newSimulator(m Mechanism) *simulator {
	m.Processes = max(m.Processes, 1)
	if m.Beta == 0 {
		m.Beta = 1
	}
	s := &simulator{
		Mechanism: m, rand: rand.New(rand.NewPCG(m.Seed, 77)), rates: m.weights(), outside: m.disturbances(),
		using: make([]*cache, m.Processes), deployed: make([]*cache, len(m.Deploys)),
		database: newDatabase(m.Concurrency), end: m.Length.Seconds(),
	}
	s.minutes = minutes{reads: m.Reads, all: Latencies{hit: m.Hit.Seconds()}}
	first := s.newCache()
	first.users = m.Processes
	for p := range s.using {
		s.using[p] = first
	}
	for i := range first.values {
		v := &first.values[i]
		if !m.Cold {
			s.store(v, s.rand.Float64()*m.TTL.Seconds())
		}
		s.plan(v)
	}
	return s
}

func (s *simulator) newCache() *cache {
	c := &cache{values: make([]value, len(s.rates))}
	for i := range c.values {
		c.values[i] = value{cache: c, key: i, took: s.Rebuild.Seconds()}
	}
	return c
}

// step plays what comes next. It returns false at the end.
func (s *simulator) step() bool {
	disturbed := math.Inf(1)
	if len(s.outside) > 0 {
		disturbed = s.outside[0].at
	}
	next := min(disturbed, s.ahead.next())
	if next >= s.end {
		return false
	}
	if s.out.Misses >= maxMisses {
		s.end = s.now
		return false
	}
	s.now = next
	if disturbed <= s.ahead.next() {
		s.disturb(s.outside[0])
		s.outside = s.outside[1:]
		return true
	}
	e := s.ahead.pop()
	switch {
	case e.kind == rebuilt:
		s.rebuilt(e.value)
	case e.kind == filled:
		s.write(e.value)
	case e.schedule == e.value.schedule && e.value.cache.users > 0:
		s.read(e.value)
		s.plan(e.value)
	}
	return true
}

func (s *simulator) disturb(d disturbance) {
	switch d.kind {
	case flushed:
		s.flush()
	case restarted:
		s.restart(d)
	case fillBegun:
		s.fill(s.Fills[d.index].Width.Seconds())
	}
}

func (s *simulator) flush() {
	for _, c := range s.inUse() {
		for i := range c.values {
			c.values[i].expires, c.values[i].usable = 0, 0
			s.plan(&c.values[i])
		}
	}
}

// restart lets a process use the cache of its deploy from now on.
func (s *simulator) restart(d disturbance) {
	if s.deployed[d.index] == nil {
		s.deployed[d.index] = s.newCache()
		for i := range s.deployed[d.index].values {
			s.plan(&s.deployed[d.index].values[i])
		}
	}
	s.using[d.process].users--
	s.using[d.process] = s.deployed[d.index]
	s.using[d.process].users++
}

func (s *simulator) fill(width float64) {
	for _, c := range s.inUse() {
		for i := range c.values {
			s.ahead.push(appointment{at: s.now + s.rand.Float64()*width, value: &c.values[i], kind: filled})
		}
	}
}

// inUse are the caches that processes use, each once.
func (s *simulator) inUse() []*cache {
	var all []*cache
	seen := map[*cache]bool{}
	for _, c := range s.using {
		if !seen[c] {
			seen[c] = true
			all = append(all, c)
		}
	}
	return all
}

// plan draws the time of the next read of a value that may matter: the first
// after its expiry, or the first that refreshes early.
func (s *simulator) plan(v *value) {
	v.schedule++
	rate := s.rates[v.key]
	if rate <= 0 {
		return
	}
	wait := s.rand.ExpFloat64()
	at := max(s.now, v.expires) + wait/rate
	if s.Policy.Has(EarlyRefresh) && s.now < v.expires {
		if early := s.early(v, rate); early < v.expires {
			at = early
		}
	}
	if at < s.end {
		s.ahead.push(appointment{at: at, value: v, schedule: v.schedule})
	}
}

// early draws the first read that refreshes before the expiry, each with the
// probability exp(-left / (beta x rebuild)): the integral of their rate is an
// exponential variable. It is infinite if there is none.
func (s *simulator) early(v *value, rate float64) float64 {
	scale := s.Beta * v.took
	if scale <= 0 {
		return math.Inf(1)
	}
	x := s.rand.ExpFloat64()/(rate*scale) + math.Exp((s.now-v.expires)/scale)
	if x >= 1 {
		return math.Inf(1)
	}
	return v.expires + scale*math.Log(x)
}

// read plays one read that may matter: any process may be the reader, and only
// those that use this cache count.
func (s *simulator) read(v *value) {
	process := s.rand.IntN(s.Processes)
	if s.using[process] != v.cache {
		return
	}
	if s.now < v.expires {
		s.readFresh(v, process)
		return
	}
	s.out.Misses++
	done, waits := s.flying(v, process)
	if !waits {
		done = s.start(v, process)
	}
	switch {
	case s.Policy.Has(ServeStale) && s.now < v.usable:
		s.out.Stale++
		done = s.now
	case waits:
		s.out.Waits++
	}
	s.minutes.add(s.now, done-s.now)
}

// readFresh plays a read before the expiry, which matters with EarlyRefresh
// alone.
func (s *simulator) readFresh(v *value, process int) {
	if !s.Policy.Has(EarlyRefresh) {
		return
	}
	if _, running := s.flying(v, process); running {
		return
	}
	s.out.Early++
	done := s.start(v, process)
	if s.Policy.Has(ServeStale) {
		done = s.now
	}
	s.minutes.add(s.now, done-s.now)
}

// flying returns when the rebuild is done that a reader would wait for.
func (s *simulator) flying(v *value, process int) (done float64, ok bool) {
	switch {
	case s.Policy.shared():
		return v.done, v.busy > 0
	case s.Policy.Has(Coalesce):
		for _, f := range v.flights {
			if f.process == process && f.done > s.now {
				return f.done, true
			}
		}
	}
	return 0, false
}

// start sends a rebuild to the database and returns when it is done.
func (s *simulator) start(v *value, process int) float64 {
	done := s.database.run(s.now, s.work())
	v.busy++
	v.done = done
	v.took = done - s.now
	if s.Policy.Has(Coalesce) && !s.Policy.shared() {
		v.flights = append(v.flights, flight{process, done})
	}
	s.ahead.push(appointment{at: done, value: v, kind: rebuilt})
	s.out.Queries = append(s.out.Queries, toDuration(s.now))
	return done
}

// work draws the time that a rebuild takes.
func (s *simulator) work() float64 {
	mean := s.Rebuild.Seconds()
	if s.RebuildCV <= 0 {
		return mean
	}
	variance := math.Log1p(s.RebuildCV * s.RebuildCV)
	return mean * math.Exp(math.Sqrt(variance)*s.rand.NormFloat64()-variance/2)
}

// rebuilt ends a rebuild.
func (s *simulator) rebuilt(v *value) {
	v.busy--
	kept := v.flights[:0]
	for _, f := range v.flights {
		if f.done > s.now {
			kept = append(kept, f)
		}
	}
	v.flights = kept
	s.write(v)
}

// write stores a new value.
func (s *simulator) write(v *value) {
	before := v.expires
	s.store(v, s.now+s.life())
	if v.expires < before || s.Policy.Has(EarlyRefresh) {
		s.plan(v) // what was planned knew another expiry
	}
}

func (s *simulator) store(v *value, expires float64) {
	v.expires, v.usable = expires, math.Inf(1)
	if s.Grace > 0 {
		v.usable = expires + s.Grace.Seconds()
	}
}

// life draws a time to live.
func (s *simulator) life() float64 {
	shortest, longest := s.Jitter.Range(s.TTL)
	return shortest.Seconds() + s.rand.Float64()*(longest-shortest).Seconds()
}

// result closes the books.
func (s *simulator) result() Simulation {
	s.minutes.close(s.end)
	s.out.Length = toDuration(s.end)
	s.out.Latency, s.out.Minutes = s.minutes.all, s.minutes.list
	s.out.Reads = int(s.out.Latency.Count())
	return s.out
}
