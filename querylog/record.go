package querylog

import (
	"errors"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// span is a piece of a block.
type span struct{ from, to int32 }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }

// flags say which parts of a record the log gave. Those that an Event has too
// stand in the same places.
type flags uint32

const (
	fDuration = flags(HasDuration)     // Query_time
	fSent     = flags(HasRowsSent)     // Rows_sent
	fExamined = flags(HasRowsExamined) // Rows_examined
	fAffected = flags(HasRowsAffected) // Rows_affected
	fThread   = flags(HasThread)       // Thread_id, Id, Conn_ID
	fErrno    = flags(HasError)        // Last_errno, Errno
	fEvent    = fDuration | fSent | fExamined | fAffected | fThread | fErrno
)

const (
	fStamp    flags = 1 << (iota + 16) // # Time, or the stamp of a general log line
	fZoned                             // the stamp has its zone
	fFine                              // the stamp is finer than a second
	fSet                               // SET timestamp
	fBegin                             // Start: of log_slow_extra
	fWho                               // User@Host
	fSchema                            // Schema, DB
	fUse                               // use db;
	fMaria                             // header in the form of MariaDB
	fMySQL                             // header in the form of MySQL or Percona
	fTiDB                              // header in the form of TiDB
	fRowStart                          // a table row: the stamp is a start (MariaDB) or an end (MySQL 5)
	fThrottle                          // a line about suppressed statements
	fOwn                               // sent by herdscan itself
)

// record is one record as it stands in a block; what it inherits from the
// records before is added by the resolver.
type record struct {
	at, line int32 // position and line in the block
	text     span
	size     int64
	who, db  span
	whoHash  uint64 // of the two, so that they need not be looked at again
	dbHash   uint64
	stamp    int64
	begin    int64
	set      int64 // ns
	duration int64 // ns
	sent     uint64
	examined uint64
	affected uint64
	thread   uint64
	errno    uint64
	sum      sqltext.Sum
	has      flags
	kind     Kind
}

// fault is a ParseError inside a block.
type fault struct {
	at, line int32
	err      error
}

// mark is something in a block that is no record: a server banner or a
// sampling marker. It holds from its record on.
type mark struct {
	before  int // index of the record it stands before
	version string
	rate    uint64
	kind    string // "query" or "session", for rate
}

// block is a piece of a log that begins at a record.
type block struct {
	data     []byte
	offset   int64 // of data in the decompressed input
	line     int64 // of the first line; set when blocks are put in order
	lines    int64 // line ends in the block
	last     bool  // no block follows
	overflow int64 // bytes of the last statement that were not kept
	overLine int64 // line ends among them

	records []record
	faults  []fault
	marks   []mark
	// tail is where the record begins that can't be decided without the next
	// block, or -1.
	tail int
	err  error // the input ended here with an error
}

// Reasons of ParseErrors.
var (
	errTail      = errors.New("text that belongs to no record")
	errCutOff    = errors.New("record cut off")
	errQueryTime = errors.New("impossible Query_time")
	errRow       = errors.New("row without the columns of the log table")
	errTime      = errors.New("time not understood")
)

// grammar is a log format that is cut into records by lines.
type grammar interface {
	// parse fills b.records from b.data.
	parse(b *block, lex *sqltext.Lexer)
	// lastCut returns the last position in data, at least 1, where a record
	// begins, or 0.
	lastCut(data []byte) int
	// firstCut returns the first such position at or after from, or 0.
	firstCut(data []byte, from int) int
}

// maxCandidates is how many beginnings of records are passed over inside an
// open string before the string is taken to be broken.
const maxCandidates = 8

// parseUint reads digits from b; n is how many there were.
func parseUint(b []byte) (v uint64, n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		v = v*10 + uint64(b[n]-'0')
		n++
	}
	return v, n
}

// maxSeconds is the longest duration believed: a negative one printed as
// unsigned is far beyond.
const maxSeconds = 366 * 86400

// parseSeconds reads a decimal number of seconds as nanoseconds.
func parseSeconds(b []byte) (ns int64, n int, ok bool) {
	v, n := parseUint(b)
	if n == 0 || n > 18 {
		return 0, n, false
	}
	if v > maxSeconds {
		return 0, n, false
	}
	ns = int64(v) * 1e9
	if n < len(b) && b[n] == '.' {
		f, digits := parseFraction(b[n+1:])
		ns += f
		n += 1 + digits
	}
	return ns, n, n >= len(b) || b[n] != '.'
}

// parseFraction reads the decimals of a second as nanoseconds; those beyond
// the ninth do not count.
func parseFraction(b []byte) (ns int64, n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		if n < 9 {
			ns = ns*10 + int64(b[n]-'0')
		}
		n++
	}
	return ns * nanoUnit[min(n, 9)], n
}

// nanoUnit is what one unit of the last of n decimals is worth in nanoseconds.
var nanoUnit = [10]int64{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 100, 10, 1}
