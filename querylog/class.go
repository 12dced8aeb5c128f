package querylog

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// hostID numbers the clients of a Summary; it fits a cell.
type hostID uint16

const (
	maxHosts   = 1<<12 - 2 // numbered clients; the others share otherHost
	otherHost  = hostID(maxHosts)
	noHost     = hostID(maxHosts + 1)
	cellUnit   = int64(125 * time.Millisecond)
	cellConn   = 9  // bits for the count
	cellHost   = 17 // and 8 for the connections
	cellBin    = 29 // and 12 for the client
	cellMaxN   = 1<<cellConn - 1
	cellLow    = 1<<cellHost - 1
	durBuckets = 64
	kmvSize    = 64
	maxDBs     = 32
)

// cell is how often a class started in one bin from one client, packed for
// sorting: bin (35 bits of 125 ms since 1970), client (12), connections (a
// set of 8 by hash), count (9).
type cell uint64

func newCell(t int64, h hostID, conn uint8) cell {
	t = max(t, 0)
	return cell(uint64(t/cellUnit)<<cellBin | uint64(h)<<cellHost | uint64(conn)<<cellConn | 1)
}

func (c cell) at() int64    { return int64(c>>cellBin) * cellUnit }
func (c cell) host() hostID { return hostID(c>>cellHost) & (1<<12 - 1) }
func (c cell) conns() uint8 { return uint8(c >> cellConn) }
func (c cell) n() uint64    { return uint64(c & cellMaxN) }
func (c cell) key() uint64  { return uint64(c >> cellHost) }

// withHost renumbers the client.
func (c cell) withHost(h hostID) cell {
	return c>>cellBin<<cellBin | cell(h)<<cellHost | c&cellLow
}

// connSet returns the set of one connection; none is the empty set.
func connSet(thread uint64, known bool) uint8 {
	if !known {
		return 0
	}
	return 1 << (thread * 0x9E3779B97F4A7C15 >> 61)
}

// class is everything kept about the statements of one shape.
type class struct {
	hash     uint64
	shape    string
	follower bool
	admin    bool // no statement: connects, pings ...
	partial  bool // it came again after it had been folded: the starts before that are lost

	n      uint64
	starts cells

	timed    uint64 // with a duration
	duration time.Duration
	longest  time.Duration
	buckets  [durBuckets]uint64 // by half octaves of microseconds

	sentKnown, sentNone uint64 // statements with a known number of rows sent, and with none
	sent                uint64
	examined            uint64
	affected            uint64
	errors              uint64
	system              uint64 // by accounts of the server or its host: rdsadmin ...

	weights weights // of a sampled log

	texts  kmv
	dbs    map[string]uint64
	bursts []Burst

	sample     []byte
	sampleText uint64
}

// observe counts one event.
func (c *class) observe(e *Event, h hostID) {
	c.n++
	if e.Has&HasTime != 0 {
		c.starts.add(e.Time.UnixNano(), h, connSet(e.ThreadID, e.Has&HasThread != 0))
	}
	if e.rate > 1 && e.Has&HasTime != 0 {
		c.weights.add(e.Time.UnixNano(), e.rate)
	}
	if e.Has&HasDuration != 0 {
		c.timed++
		c.duration += e.Duration
		c.longest = max(c.longest, e.Duration)
		c.buckets[bucketOf(e.Duration)]++
	}
	if e.Has&HasRowsSent != 0 {
		c.sentKnown++
		c.sent += e.RowsSent
		if e.RowsSent == 0 {
			c.sentNone++
		}
	}
	c.examined += e.RowsExamined
	c.affected += e.RowsAffected
	if e.Has&HasError != 0 && e.Errno != 0 {
		c.errors++
	}
	if isSystemUser(e.User) {
		c.system++
	}
	if e.DB != "" {
		c.database(e.DB, 1)
	}
	c.texts.add(e.Text)
	c.keepSample(e)
}

// maxSample is how much of a sample text is kept.
const maxSample = 4096

func (c *class) database(db string, n uint64) {
	if c.dbs == nil {
		c.dbs = map[string]uint64{}
	}
	if _, ok := c.dbs[db]; ok || len(c.dbs) < maxDBs {
		c.dbs[db] += n
	}
}

// bucketOf returns the half octave of a duration in microseconds.
func bucketOf(d time.Duration) int {
	us := uint64(d / time.Microsecond)
	if us == 0 {
		return 0
	}
	b := 2*bits.Len64(us) - 1
	if us&(1<<(bits.Len64(us)-1)>>1) != 0 {
		b++
	}
	return min(b, durBuckets-1)
}

// bucketTop returns the upper end of a bucket.
func bucketTop(b int) time.Duration {
	if b == 0 {
		return time.Microsecond
	}
	octave := uint64(1) << ((b - 1) / 2)
	if b%2 == 1 {
		return time.Duration(octave*3/2+octave%2) * time.Microsecond
	}
	return time.Duration(2*octave) * time.Microsecond
}

// quantile returns an upper bound of the q-quantile of the durations, within half an octave.
func (c *class) quantile(q float64) time.Duration {
	want := uint64(q * float64(c.timed))
	var sum uint64
	for b, n := range c.buckets {
		if sum += n; sum > want {
			return min(bucketTop(b), c.longest)
		}
	}
	return c.longest
}

// merge adds what o counted; hosts translates its clients.
func (c *class) merge(o *class, hosts []hostID) {
	c.n += o.n
	c.partial = c.partial || o.partial
	for x := range o.starts.all() {
		h := x.host()
		if int(h) < len(hosts) {
			h = hosts[h]
		}
		c.starts.list = append(c.starts.list, x.withHost(h))
	}
	c.starts.compact()
	c.timed += o.timed
	c.duration += o.duration
	c.longest = max(c.longest, o.longest)
	for i, n := range o.buckets {
		c.buckets[i] += n
	}
	c.sentKnown += o.sentKnown
	c.sentNone += o.sentNone
	c.sent += o.sent
	c.examined += o.examined
	c.affected += o.affected
	c.errors += o.errors
	c.system += o.system
	c.weights.merge(&o.weights)
	c.texts.merge(&o.texts)
	for db, n := range o.dbs {
		c.database(db, n)
	}
	for _, b := range o.bursts {
		b.hosts = b.hosts.translate(hosts)
		c.bursts = append(c.bursts, b)
	}
	if c.sample == nil || o.sample != nil && o.sampleText < c.sampleText {
		c.sample, c.sampleText = slices.Clone(o.sample), o.sampleText
	}
}

// kmv estimates the number of distinct texts from the smallest hashes
// (Bar-Yossef et al. 2002); the order of adding does not matter.
type kmv struct{ list []uint64 } // ascending

func (k *kmv) add(h uint64) {
	if len(k.list) == kmvSize && h >= k.list[kmvSize-1] {
		return
	}
	i, ok := slices.BinarySearch(k.list, h)
	if ok {
		return
	}
	k.list = slices.Insert(k.list, i, h)
	if len(k.list) > kmvSize {
		k.list = k.list[:kmvSize]
	}
}

func (k *kmv) merge(o *kmv) {
	for _, h := range o.list {
		k.add(h)
	}
}

// distinct returns the number of distinct texts: exact below 64, within some 13 % above.
func (k *kmv) distinct() uint64 {
	if len(k.list) < kmvSize {
		return uint64(len(k.list))
	}
	return uint64(float64(kmvSize-1) / (float64(k.list[kmvSize-1]) / (1 << 64)))
}

// shapeSet is a set of shapes by hash: it may hold some that were never added,
// and never lacks one that was. It takes 128 KiB, whatever it holds, and
// nothing while it is empty.
type shapeSet []uint64

const shapeBits = 20 // of a hash

func (ss *shapeSet) add(hash uint64) {
	if *ss == nil {
		*ss = make(shapeSet, 1<<shapeBits/64)
	}
	i := hash >> (64 - shapeBits)
	(*ss)[i/64] |= 1 << (i % 64)
}

func (ss shapeSet) has(hash uint64) bool {
	i := hash >> (64 - shapeBits)
	return ss != nil && ss[i/64]&(1<<(i%64)) != 0
}

func (ss *shapeSet) merge(o shapeSet) {
	if *ss == nil {
		*ss = slices.Clone(o)
		return
	}
	for i, w := range o {
		(*ss)[i] |= w
	}
}

// len returns about how many shapes were added, by linear counting (Whang,
// Vander-Zanden, Taylor 1990).
func (ss shapeSet) len() uint64 {
	free := 0
	for _, w := range ss {
		free += bits.OnesCount64(^w)
	}
	if len(ss) == 0 {
		return 0
	}
	return uint64(math.Round(math.Log(1<<shapeBits/float64(max(free, 1))) * (1 << shapeBits)))
}

// isSystemUser recognises accounts that belong to the server or its host, not to an application.
func isSystemUser(user string) bool {
	switch user {
	case "rdsadmin", "SQL_SLAVE", "mysql.sys", "mysql.session", "event_scheduler", "system user", "azure_superuser", "cloudsqladmin":
		return true
	}
	return false
}
