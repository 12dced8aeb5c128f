package attribute

import (
	"fmt"

	"github.com/herdscan/herdscan/comb"
)

const nameless = -3.0 // of a suspect that no source names

// combGeneric weighs each kind of cause of a comb from the log alone.
func (a *analyser) combGeneric(s *subject) []Suspect {
	return []Suspect{
		a.genericKeys(s, TTL), a.genericKeys(s, HotKey), a.genericCron(s), a.genericReplica(s), a.genericWarmUp(s), a.genericRetry(s),
	}
}

// newGeneric starts a suspect without a name.
func newGeneric(k Kind) Suspect {
	c := Suspect{Kind: k, Cache: -1, LogAlone: true}
	c.add(nameless, "")
	return c
}

func (a *analyser) genericKeys(s *subject, kind Kind) Suspect {
	c := newGeneric(kind)
	var g ttlGuess
	if list := usualTTLs(s, 0); len(list) > 0 {
		g = list[0]
		c.TTL, c.Delta = seconds(g.ttl), seconds(s.period-g.ttl)
	}
	a.weighTTL(s, &c, g, comb.Jitter{})
	return c
}

// weighSchedule weighs what any schedule must show.
func (s *subject) weighSchedule(c *Suspect) {
	switch s.lock {
	case comb.WallClock:
		firm, _ := s.firmness()
		c.say(3*firm, "the teeth keep their place on the wall clock, every %s", dur(s.comb.Period))
	case comb.Drifting, comb.Free:
		c.refute("%s", s.drifts())
	}
}

// drifts says how the teeth move against the wall clock.
func (s *subject) drifts() string {
	if s.lock == comb.Free || s.comb.Drift == 0 {
		return fmt.Sprintf("the period of %s is no period of a schedule", dur(s.comb.Period))
	}
	hourly := s.comb.Drift.Seconds() * 3600 / s.period
	return fmt.Sprintf("the teeth drift %s an hour against the wall clock", dur(seconds(hourly)))
}

// weighOneHost weighs that a job runs in one place.
func (s *subject) weighOneHost(c *Suspect) {
	f := s.log
	switch {
	case f.HostsATooth == 1 && f.ConnsATooth > 1 && s.reads > 0.95:
		c.say(0.5, "it comes from one client") // or from a proxy
	case f.HostsATooth == 1:
		c.say(2, "it comes from one client")
	case s.batch:
	case f.HostsATooth > 1 && s.reads > 0.5 && s.lock == comb.WallClock:
		c.say(-8, "%d clients ask for different things, as readers do", f.HostsATooth)
	case f.HostsATooth > 1 && s.reads > 0.5:
		c.say(-12, "%d clients ask for different things, as readers do, and nothing holds the teeth to the clock", f.HostsATooth)
	case f.HostsATooth > 1:
		c.say(-3, "%d clients take part", f.HostsATooth)
	}
}

func (a *analyser) genericCron(s *subject) Suspect {
	c := newGeneric(Cron)
	c.add(s.timing(), "")
	s.weighSchedule(&c)
	s.weighOneHost(&c)
	if s.batch {
		c.say(-4, "every client sends the same batch: the job runs on each replica")
	}
	return c
}

func (a *analyser) genericReplica(s *subject) Suspect {
	c := newGeneric(ReplicaJob)
	if !s.batch {
		c.refute("the clients do not send one and the same batch")
		return c
	}
	c.add(s.timing(), "")
	c.say(8, "%d clients send the same batch in each tooth", s.log.HostsATooth)
	if s.lock == comb.WallClock {
		c.say(3, "the teeth keep their place on the wall clock, every %s", dur(s.comb.Period))
	}
	if s.single {
		c.say(-8, "the batch is one read: one refill a process looks the same")
	}
	return c
}

// genericWarmUp weighs a schedule that refills a cache: it keeps the clock like
// a job and asks like readers.
func (a *analyser) genericWarmUp(s *subject) Suspect {
	c := newGeneric(WarmUp)
	c.add(s.timing()-4, "") // a job and a cache, and nobody has seen either
	if len(a.Caches) > 0 {
		c.say(-4, "the cache shows no keys that a schedule writes")
	}
	s.weighSchedule(&c)
	s.weighMisses(&c)
	return c
}

// weighMisses weighs that many readers ask, as they do when keys have died.
func (s *subject) weighMisses(c *Suspect) {
	f := s.log
	switch {
	case s.batch:
		c.say(-10, "every client sends the same batch: a job, not misses")
	case s.reads < 0.5:
		c.say(-10, "%.0f %% of it writes: no cache would answer that", 100*(1-s.reads))
	case f.HostsATooth <= 1:
		c.say(-12, "it comes from one client: the job itself, not readers that miss")
	default:
		c.say(3, "%d clients ask for what a cache should have", f.HostsATooth)
	}
}
