package querylog

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// client is who sent a statement, as one spelling in the log says.
type client struct {
	user, host string
	db         string // of a general log's Connect line

	owner *Summary // whose number of this client is kept here
	id    hostID
}

// spelling is a client by the hash of how it was written.
type spelling struct {
	hash   uint64
	client *client
}

// resolver gives records what they inherit from the records before them:
// time, database and client. It must see the records in the order of the log.
type resolver struct {
	server  Server // asked for by the caller
	banner  Server // of the last banner
	version string
	clock   zoneClock

	clients map[uint64]*client // by the hash of their spelling
	recent  [256]spelling      // the last ones used
	threads map[uint64]*client // of a general log
	nobody  *client
	dbs     map[uint64]string
	db      string // the last "use" of a slow log

	first     int64 // a time of the first block that most of its times bear out
	hasFirst  bool
	last      int64 // last believed time
	hasLast   bool
	suspects  int // records in a row whose time was not believed
	falsified uint64
	guessed   bool // the server had to be guessed
	unzoned   bool // a stamp named no zone and nothing else told the time
	writer    Server
	offset    int64 // of the log's clock from UTC, ns
	hasOffset bool
	fine      bool // a stamp was finer than a second
	event     Event
}

func newResolver(o Options) *resolver {
	return &resolver{
		server: o.Server, clock: zoneClock{zone: o.Zone},
		clients: map[uint64]*client{}, threads: map[uint64]*client{}, dbs: map[uint64]string{}, nobody: &client{},
	}
}

// maxInterned bounds the tables of names; beyond it they start anew.
const maxInterned = 1 << 16

// event fills the one Event with record i of a block.
func (rs *resolver) eventOf(b *block, f Format, i int) *Event {
	r := &b.records[i]
	e := &rs.event
	*e = Event{
		Query: r.text.of(b.data), Size: r.size, Kind: r.kind, ThreadID: r.thread,
		RowsSent: r.sent, RowsExamined: r.examined, RowsAffected: r.affected, Errno: r.errno,
		Duration: time.Duration(r.duration), Shape: r.sum.Shape, Text: r.sum.Text,
		Offset: b.offset + int64(r.at), Line: b.line + int64(r.line) + 1,
		Has: Has(r.has & fEvent), throttle: r.has&fThrottle != 0, own: r.has&fOwn != 0,
	}
	rs.time(e, r, f)
	if f.General() {
		rs.general(e, r, b)
	} else {
		rs.slow(e, r, b)
	}
	e.User, e.Host = e.client.user, e.client.host
	return e
}

// slow gives a record of a slow log its client and database.
func (rs *resolver) slow(e *Event, r *record, b *block) {
	e.client = rs.nobody
	if r.has&fWho != 0 {
		e.client = rs.clientOf(r.whoHash, r.who.of(b.data))
	}
	switch {
	case r.has&fUse != 0:
		rs.db = rs.name(r.dbHash, r.db.of(b.data))
		e.DB = rs.db
	case r.has&fSchema != 0:
		e.DB = rs.name(r.dbHash, r.db.of(b.data))
	default:
		e.DB = rs.db
	}
}

// general follows the connections of a general log.
func (rs *resolver) general(e *Event, r *record, b *block) {
	if r.has&fWho != 0 { // a table row names its client itself
		e.client = rs.clientOf(r.whoHash, r.who.of(b.data))
		if e.Kind == KindConnect && bytes.HasPrefix(e.Query, accessDenied) {
			e.Kind = KindDenied
		}
		return
	}
	if e.Kind == KindConnect {
		rs.connect(e)
	}
	c, ok := rs.threads[r.thread]
	if !ok {
		c = rs.nobody
	}
	e.client, e.DB = c, c.db
	switch {
	case e.Kind == KindQuit:
		delete(rs.threads, r.thread)
	case e.Kind == KindAdmin && ok && len(e.Query) > 0 && isInitDB(b.data[r.at:r.text.from]):
		own := *c
		own.db = rs.name(xxhash.Sum64(e.Query), e.Query)
		rs.threads[r.thread] = &own
	}
}

var (
	accessDenied = []byte("Access denied")
	initDB       = []byte("Init DB")
)

func isInitDB(head []byte) bool { return bytes.Contains(head, initDB) }

// connect reads "user@host on db using TCP/IP" or a refusal.
func (rs *resolver) connect(e *Event) {
	if bytes.HasPrefix(e.Query, accessDenied) {
		e.Kind = KindDenied
		delete(rs.threads, e.ThreadID)
		return
	}
	who, rest, _ := bytes.Cut(e.Query, []byte(" "))
	c := *rs.clientOf(xxhash.Sum64(who), who)
	if _, db, ok := bytes.Cut(append([]byte{' '}, rest...), []byte(" on ")); ok {
		if i := bytes.Index(db, []byte(" using ")); i >= 0 {
			db = db[:i]
		}
		db = bytes.TrimSpace(db)
		c.db = rs.name(xxhash.Sum64(db), db)
	}
	if len(rs.threads) >= maxInterned {
		clear(rs.threads)
	}
	rs.threads[e.ThreadID] = &c
}

// clientOf reads who sent a statement, once for each spelling.
func (rs *resolver) clientOf(hash uint64, who []byte) *client {
	recent := &rs.recent[hash%uint64(len(rs.recent))]
	if recent.client != nil && recent.hash == hash {
		return recent.client
	}
	c, ok := rs.clients[hash]
	if !ok {
		if len(rs.clients) >= maxInterned {
			clear(rs.clients)
		}
		c = parseClient(who)
		rs.clients[hash] = c
	}
	recent.hash, recent.client = hash, c
	return c
}

// parseClient reads user[user] @ host [ip], user@host or ip:port.
func parseClient(who []byte) *client {
	var c client
	user, at, ok := bytes.Cut(who, []byte("@"))
	if !ok {
		host, _, _ := bytes.Cut(who, []byte(":"))
		c.host = string(bytes.TrimSpace(host))
		return &c
	}
	name, inner, bracket := bytes.Cut(user, []byte("["))
	if bracket && len(name) == 0 {
		name, _, _ = bytes.Cut(inner, []byte("]"))
	}
	c.user = string(bytes.TrimSpace(name))
	host, ip, _ := bytes.Cut(at, []byte("["))
	ip = bytes.TrimRight(ip, "] ")
	if host = bytes.TrimSpace(host); len(host) == 0 {
		host = ip
	}
	c.host = string(host)
	return &c
}

// name interns a database name.
func (rs *resolver) name(hash uint64, b []byte) string {
	if s, ok := rs.dbs[hash]; ok {
		return s
	}
	if len(rs.dbs) >= maxInterned {
		clear(rs.dbs)
	}
	s := string(b)
	rs.dbs[hash] = s
	return s
}

// mark takes what a block says before one of its records. A banner at the
// beginning of a file is that of a rotation; further on, the server started.
func (rs *resolver) mark(m mark, started bool) {
	if m.version == "" {
		return
	}
	rs.version = m.version
	rs.banner = ServerMySQL
	if strings.Contains(m.version, "MariaDB") {
		rs.banner = ServerMariaDB
	}
	if started { // it counts its connections anew
		clear(rs.threads)
		rs.db = ""
	}
}

// time finds the start of a statement.
//
// What a log's times mean depends on the server: MariaDB writes the start;
// MySQL up to 5.6 the end, in whole seconds; MySQL from 5.7 and Percona the
// end with microseconds; log_slow_extra and TiDB say it outright.
func (rs *resolver) time(e *Event, r *record, f Format) {
	t, ok := rs.start(r, f)
	if ok {
		t, ok = rs.believe(t)
	}
	if !rs.hasLast {
		return
	}
	if !ok {
		t = rs.last
	}
	e.Time = time.Unix(0, t).UTC()
	e.Has |= HasTime
}

// start returns the start in Unix nanoseconds as the record says it.
func (rs *resolver) start(r *record, f Format) (int64, bool) {
	if r.has&fBegin != 0 {
		rs.fine = true
		return r.begin, true
	}
	wall := r.stamp
	if r.has&fStamp != 0 && r.has&fZoned == 0 && (r.has&fSet == 0 || r.has&fFine != 0) {
		wall = rs.clock.utc(r.stamp)
		rs.unzoned = true
	}
	rs.fine = rs.fine || r.has&fFine != 0
	switch {
	case f.General():
		return wall, r.has&fStamp != 0
	case r.has&fRowStart != 0:
		if rs.serverOf(r) == ServerMariaDB {
			return wall, true
		}
		return wall - r.duration, true
	case r.has&(fStamp|fFine) == fStamp|fFine:
		return wall - r.duration, true
	case r.has&fSet != 0:
		rs.learnOffset(r)
		wall = r.set
	case r.has&fStamp == 0:
		return 0, false
	}
	if rs.serverOf(r) == ServerMariaDB {
		return wall, true
	}
	return floorSecond(wall + 5e8 - r.duration), true
}

// learnOffset compares the two times of a record: the clock's and UTC's.
func (rs *resolver) learnOffset(r *record) {
	const quarter = int64(15 * time.Minute)
	if r.has&(fStamp|fZoned) != fStamp {
		return
	}
	if d := r.stamp - r.set; d > -15*4*quarter && d < 15*4*quarter {
		rs.offset = int64(time.Duration(d).Round(time.Duration(quarter)))
		rs.hasOffset = true
	}
}

// serverOf decides who wrote a record: what the caller says, the form of its
// header, the banner, or MySQL.
func (rs *resolver) serverOf(r *record) Server {
	switch {
	case rs.server != ServerUnknown:
		rs.writer = rs.server
	case r.has&fTiDB != 0:
		rs.writer = ServerTiDB
	case r.has&fMaria != 0:
		rs.writer = ServerMariaDB
	case r.has&fMySQL != 0:
		rs.writer = ServerMySQL
	case rs.banner != ServerUnknown:
		rs.writer = rs.banner
	default:
		rs.guessed, rs.writer = true, ServerMySQL
	}
	return rs.writer
}

func floorSecond(ns int64) int64 {
	if ns < 0 {
		return ns
	}
	return ns - ns%int64(time.Second)
}

const (
	maxBack    = int64(26 * time.Hour)           // further back is not a late record
	maxForward = int64(400 * 24 * time.Hour)     // further ahead is not a pause
	maxSuspect = 64                              // records in a row that agree are believed
	maxFirst   = 5 * 365 * 24 * int64(time.Hour) // further from most times of the first block is not a sparse log
)

// begin looks at the times of the first block, for a log may begin with one
// that a session falsified.
func (rs *resolver) begin(b *block) {
	if rs.hasFirst || rs.hasLast {
		return
	}
	var times []int64
	for i := range b.records {
		if t, ok := b.records[i].wall(); ok {
			times = append(times, t)
		}
	}
	if len(times) == 0 {
		return
	}
	slices.Sort(times)
	rs.first, rs.hasFirst = times[len(times)/2], true
}

// wall returns the time of a record as it stands in the log.
func (r *record) wall() (int64, bool) {
	switch {
	case r.has&fStamp != 0:
		return r.stamp, true
	case r.has&fSet != 0:
		return r.set, true
	}
	return 0, false
}

// believe refuses times that a session falsified with SET timestamp, as
// replication and replays do: jumps back by more than a day, or ahead by more
// than a year. A log that goes on from there is believed after a while.
func (rs *resolver) believe(t int64) (int64, bool) {
	if !rs.hasLast {
		if rs.hasFirst && (t < rs.first-maxFirst || t > rs.first+maxFirst) {
			rs.falsified++
			return 0, false
		}
		rs.last, rs.hasLast = t, true
		return t, true
	}
	if d := t - rs.last; d < -maxBack || d > maxForward {
		rs.suspects++
		if rs.suspects < maxSuspect {
			rs.falsified++
			return 0, false
		}
	}
	rs.suspects = 0
	rs.last = t
	return t, true
}
