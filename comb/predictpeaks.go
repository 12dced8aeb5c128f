package comb

import "math"

// Peaks are the expected busiest seconds at the database, in queries. A figure
// is 0 where there is no formula: after a deploy of one process after another,
// and with a limit of the database's concurrency.
type Peaks struct {
	Event float64 // of a cold start, a flush or a deploy
	Later float64 // of the first expiry after it; without an event, of any second
}

// PredictPeaks returns the busiest seconds that a mechanism will have, without
// playing it.
//
// Each key makes one lump of queries when it is missed: the reader that misses
// first, and those that come until the value is there and are not held back
// (HotKey.Copies, HotKey.Coalesce). After a cold start the lump of a key that is
// read at the rate r begins after an exponential time of mean 1/r; after the
// next expiry the sum of two such times, and what the jitter adds. The lumps
// that begin within the best second are summed up; that the maximum is above
// its mean follows from Chernoff's bound on a sum of independent lumps.
func PredictPeaks(m Mechanism) Peaks {
	if m.Concurrency > 0 {
		return Peaks{}
	}
	p := newPeaker(m)
	for _, d := range m.Deploys {
		if d.Gap > 0 {
			return Peaks{}
		}
	}
	var out Peaks
	emptied := m.Cold || len(m.Flushes)+len(m.Deploys) > 0
	if emptied {
		out.Event = p.busiest(coldStart)
	}
	if m.Policy.Has(EarlyRefresh) { // a cold start has no expiries to refresh before
		p.holdBack()
	}
	switch {
	case emptied:
		out.Later = p.later(0)
	case len(m.Fills) == 0:
		out.Later = p.steady()
	}
	p.filled = true
	for _, f := range m.Fills {
		out.Later = max(out.Later, p.later(f.Width.Seconds()))
	}
	return out
}

// peaker has what a prediction needs. Times are in seconds.
type peaker struct {
	Mechanism
	classes []readClass
	filled  bool // the keys are born by a job, else by their first reads
}

// readClass is keys that are read equally often.
type readClass struct {
	keys    float64
	rate    float64 // reads per second of each key
	rebuild float64 // until the first of its readers has written the value
	extra   float64 // queries of a lump after the first that all rebuilds make
	share   float64 // of the extra queries, those that are not held back by early refreshes
	// writes are equally likely times from the first query of a lump to the
	// write whose TTL counts: that of the copy that begins last.
	writes []float64
}

// newPeaker sorts the keys into classes: the hottest alone, others with their
// like.
func newPeaker(m Mechanism) *peaker {
	m.Processes = max(m.Processes, 1)
	if m.Beta == 0 {
		m.Beta = 1
	}
	p := &peaker{Mechanism: m}
	rates := m.weights()
	if m.Zipf == 0 {
		p.add(float64(len(rates)), rates[0])
		return p
	}
	for from := 0; from < len(rates); {
		to := min(max(from+1, from*6/5), len(rates))
		sum := 0.0
		for _, r := range rates[from:to] {
			sum += r
		}
		p.add(float64(to-from), sum/float64(to-from))
		from = to
	}
	return p
}

func (p *peaker) add(keys, rate float64) {
	c := readClass{keys: keys, rate: rate, share: 1, rebuild: p.firstDone(rate)}
	c.extra = p.copies(c, c.rebuild)
	c.writes = p.writes(c)
	p.classes = append(p.classes, c)
}

// writes computes readClass.writes, from the distribution of the last begin of
// a copy: later readers come at the rate of the class, or each other process
// has its first.
func (p *peaker) writes(c readClass) []float64 {
	if p.Policy.shared() || c.rate <= 0 {
		return []float64{c.rebuild}
	}
	const parts = 5
	out := make([]float64, parts)
	for i := range out {
		q := (float64(i) + 0.5) / parts
		last := c.rebuild + math.Log(q)/c.rate
		if p.Policy.Has(Coalesce) {
			last = 0
			if others := float64(p.Processes - 1); others > 0 {
				own := c.rate / float64(p.Processes)
				last = -math.Log(min(1+math.Exp(-own*c.rebuild)-math.Pow(q, 1/others), 1)) / own
			}
		}
		out[i] = c.rebuild + max(last, 0)
	}
	return out
}

// write is the mean of the writes.
func (c readClass) write() float64 {
	sum := 0.0
	for _, w := range c.writes {
		sum += w
	}
	return sum / float64(len(c.writes))
}

// firstDone is the expected time until the first of the readers that compute a
// value has done so. It is shorter than one rebuild where several run and their
// times differ.
func (p *peaker) firstDone(rate float64) float64 {
	mean := p.Rebuild.Seconds()
	if p.RebuildCV <= 0 || p.Policy.shared() || mean == 0 {
		return mean
	}
	deviation := math.Sqrt(math.Log1p(p.RebuildCV * p.RebuildCV))
	middle := math.Log(mean) - deviation*deviation/2
	doneBy := func(x float64) float64 { return math.Erfc((middle-math.Log(x))/deviation/math.Sqrt2) / 2 }
	const steps = 200
	step := mean * (1 + 5*p.RebuildCV) / steps
	sum, others := 0.0, 0.0 // others: expected rebuilds of later readers that are done
	for i := range steps {
		x := (float64(i) + 0.5) * step
		done := doneBy(x)
		others += rate * done * step
		sum += (1 - done) * math.Exp(-others) * step
	}
	return sum
}

// copies is the expected number of queries that follow the first within a time
// up to the rebuild.
func (p *peaker) copies(c readClass, within float64) float64 {
	switch n := float64(p.Processes); {
	case p.Policy.shared():
		return 0
	case p.Policy.Has(Coalesce):
		return (n - 1) * (1 - math.Exp(-c.rate/n*within))
	default:
		return c.rate * within
	}
}

// arrival tells how many keys of a class, as a share, have begun their lump at
// a time.
type arrival func(c readClass, t float64) float64

// coldStart is the arrival of the first reads of an empty cache at time 0.
func coldStart(c readClass, t float64) float64 {
	return 1 - math.Exp(-c.rate*max(t, 0))
}

// nextExpiry is the arrival of the misses when keys with one TTL expire: the
// birth of the key, then the first read after its expiry.
func (p *peaker) nextExpiry(c readClass, t float64) float64 {
	if p.filled {
		return p.missed(c, t)
	}
	sum := 0.0
	for _, w := range c.writes {
		sum += p.missedTwice(c, t-w)
	}
	return sum / float64(len(c.writes))
}

// early is the scale of the time by which EarlyRefresh precedes an expiry.
func (p *peaker) early() float64 {
	if !p.Policy.Has(EarlyRefresh) {
		return 0
	}
	return p.Beta * p.Rebuild.Seconds()
}

// missed is the share of the keys that expire at time 0 and are missed, or
// refreshed early, by t.
func (p *peaker) missed(c readClass, t float64) float64 {
	reads := c.rate * max(t, 0)
	if scale := p.early(); scale > 0 {
		reads += c.rate * scale * math.Exp(min(t, 0)/scale)
	}
	return 1 - math.Exp(-reads)
}

// missedTwice is missed for keys that are born by their first reads from time
// 0 on.
func (p *peaker) missedTwice(c readClass, t float64) float64 {
	if p.early() == 0 {
		x := c.rate * max(t, 0)
		return 1 - (1+x)*math.Exp(-x)
	}
	const parts = 8 // of the first reads
	sum := 0.0
	for i := range parts {
		sum += p.missed(c, t+math.Log(1-(float64(i)+0.5)/parts)/max(c.rate, 1e-12))
	}
	return sum / parts
}

// later returns the highest second of the first expiry of keys that were born
// within a width.
func (p *peaker) later(width float64) float64 {
	width = max(width, p.Jitter.width(p.TTL))
	if width < 1 {
		return p.busiest(p.nextExpiry)
	}
	return p.spread(width)
}

// holdBack lets the lumps be those of expiries under EarlyRefresh.
func (p *peaker) holdBack() {
	few := math.Exp(1/p.Beta) / p.Rebuild.Seconds() // readers a second that compute
	for i := range p.classes {
		c := &p.classes[i]
		c.rebuild = p.firstDone(min(c.rate, few))
		c.extra = p.copies(*c, c.rebuild)
		c.share = p.refreshed(*c)
	}
}

// refreshed is the share of the copies of a lump that EarlyRefresh leaves. The
// reads that refresh come at the rate r exp(-left/scale), so at the first of them
// the integral of that rate is an exponential variable w, and those that follow
// within the rebuild are w (exp(1/beta) - 1), if the value does not expire
// meanwhile.
func (p *peaker) refreshed(c readClass) float64 {
	scale := p.early()
	if scale == 0 || c.extra == 0 {
		return 1
	}
	const parts = 16
	limit, sum := c.rate*scale, 0.0 // the integral up to the expiry
	for i := range parts {
		w := -math.Log(1 - (float64(i)+0.5)/parts)
		switch grown := w * math.Exp(c.rebuild/scale); {
		case w >= limit: // it expired before anybody refreshed it
			sum += c.rate * c.rebuild
		case grown <= limit:
			sum += grown - w
		default:
			sum += limit - w + c.rate*(c.rebuild-scale*math.Log(limit/w))
		}
	}
	return min(sum/parts/c.extra, 1)
}

// busiest returns the highest second of an arrival.
func (p *peaker) busiest(a arrival) float64 {
	var best []lump
	highestMean, all := 0.0, 0.0
	for _, t := range p.moments() {
		second := make([]lump, 0, len(p.classes))
		sum := 0.0
		for _, c := range p.classes {
			n := p.within(a, c, t)
			if n > 0 {
				chance := min(a(c, t+1)-a(c, t-c.rebuild), n)
				second = append(second, p.lump(c, chance, n/chance))
			}
			sum += c.keys * n
		}
		if sum > highestMean {
			highestMean, best = sum, second
		}
	}
	for _, c := range p.classes {
		all += c.keys * (1 + c.share*c.extra)
	}
	return highest(best, all/max(highestMean, 1e-9))
}

// moments are begins of seconds that may be the busiest.
func (p *peaker) moments() []float64 {
	rebuild := p.Rebuild.Seconds()
	from, to := 0.0, 2*rebuild+1
	from -= 8 * p.early()
	var all []float64
	const steps = 40
	for i := range steps {
		all = append(all, from+(to-from)*float64(i)/steps)
	}
	slowest := p.classes[len(p.classes)-1].rate
	for t := to; t < 3/max(slowest, 1e-9); t *= 1.3 {
		all = append(all, t)
	}
	return all
}

// within is the expected number of queries of a key in the second that begins
// at t, those of lumps included that began before.
func (p *peaker) within(a arrival, c readClass, t float64) float64 {
	sum := 0.0
	begun(a, c, t, t+1, func(keys, at float64) {
		sum += keys * (1 + c.share*p.copies(c, min(c.rebuild, t+1-at)))
	})
	if c.extra > 0 {
		begun(a, c, t-c.rebuild, t, func(keys, at float64) {
			sum += keys * c.share * (p.copies(c, min(c.rebuild, t+1-at)) - p.copies(c, t-at))
		})
	}
	return sum
}

// begun cuts a time into parts and yields the share of the keys of a class that
// begin their lump in each, and when.
func begun(a arrival, c readClass, from, to float64, yield func(keys, at float64)) {
	const parts = 12
	before := a(c, from)
	for i := range parts {
		until := a(c, from+(to-from)*float64(i+1)/parts)
		if until > before {
			yield(until-before, from+(to-from)*(float64(i)+0.5)/parts)
		}
		before = until
	}
}

// spread returns the highest second of the first expiry of keys whose deadlines
// lie evenly in a width of more than a second.
func (p *peaker) spread(width float64) float64 {
	best := 0.0
	for i := range 20 { // the plateau of the hot keys ends at the width
		t := width * float64(i+1) / 20
		var second []lump
		sum := 0.0
		for _, c := range p.classes {
			share := (p.integral(c, t) - p.integral(c, t-1) - p.integral(c, t-width) + p.integral(c, t-1-width)) / width
			l := p.lump(c, share, p.largest(c))
			sum += l.mean()
			second = append(second, l)
		}
		best = max(best, highest(second, width))
	}
	return best
}

// integral is that of nextExpiry, without early refreshes, from the start to t.
func (p *peaker) integral(c readClass, t float64) float64 {
	if !p.filled {
		t -= c.write()
	}
	if t <= 0 || c.rate <= 0 {
		return 0
	}
	late := math.Exp(-c.rate * t)
	if p.filled {
		return t - (1-late)/c.rate
	}
	return t - 2/c.rate + late*(t+2/c.rate)
}

// largest is the most queries of one lump that fall into one second.
func (p *peaker) largest(c readClass) float64 {
	return 1 + c.share*p.copies(c, min(c.rebuild, 1))
}

// steady returns the highest second of a cache whose keys were born at random.
func (p *peaker) steady() float64 {
	shortest, longest := p.Jitter.Range(p.TTL)
	var second []lump
	for _, c := range p.classes {
		if c.rate <= 0 {
			continue
		}
		period := (shortest+longest).Seconds()/2 + c.write() + 1/c.rate
		second = append(second, p.lump(c, 1/period, p.largest(c)))
	}
	return highest(second, p.Length.Seconds())
}
