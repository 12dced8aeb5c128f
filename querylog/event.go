// Package querylog reads the query logs of MySQL, MariaDB, Percona Server and
// TiDB, counts them into mergeable summaries and finds herds in them: combs,
// stampedes, jobs run once per replica, cold starts, retry storms and missing
// rows asked for again and again.
//
// The road of the data: Source -> Reader (Event by Event) or Summarise (the
// same in parallel) -> Summary -> Analyse -> Analysis.
package querylog

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind says what an Event is.
type Kind uint8

// The kinds of events. Only queries and executions are statements that ran.
const (
	KindQuery   Kind = iota // a statement
	KindExecute             // a prepared statement run with its values
	KindPrepare             // a statement prepared, not run
	KindConnect             // a connection accepted
	KindDenied              // a connection or login refused
	KindQuit                // a connection closed
	KindAdmin               // any other command: ping, init db, statistics ...
)

// String returns the kind in lower case.
func (k Kind) String() string {
	names := [...]string{"query", "execute", "prepare", "connect", "denied", "quit", "admin"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Ran says whether the event is a statement that the server ran.
func (k Kind) Ran() bool { return k == KindQuery || k == KindExecute }

// Has tells which fields of an Event the log gave.
type Has uint16

// The optional fields of an Event.
const (
	HasTime Has = 1 << iota
	HasDuration
	HasRowsSent
	HasRowsExamined
	HasRowsAffected
	HasThread
	HasError
)

// Event is one record of a query log. The Reader reuses it: it is valid until
// the next Read.
type Event struct {
	// Time is when the statement started, UTC. Logs that give only its end
	// have the duration taken off. It is the time of the record before when
	// the log gives none; HasTime is set when there is one at all.
	Time time.Time
	// Query is the text without its closing semicolon, at most MaxStatement bytes.
	Query []byte
	// Size is the length of the whole statement in bytes.
	Size int64
	// Duration is how long the statement ran (HasDuration).
	Duration time.Duration

	User     string
	Host     string // the name if the log has one, else the address
	DB       string // the database in use, if the log says so
	ThreadID uint64 // HasThread

	RowsSent     uint64 // HasRowsSent
	RowsExamined uint64 // HasRowsExamined
	RowsAffected uint64 // HasRowsAffected
	Errno        uint64 // HasError: error number, 0 for success

	Has    Has
	Kind   Kind
	Offset int64 // of the record in the decompressed input, bytes
	Line   int64 // of the record's first line, from 1

	// Shape is the class of the statement, Text the identical statement
	// (see package sqltext). Both are 0 for events made by hand until they
	// are added to a Summary.
	Shape, Text uint64

	rate     uint64 // one of so many like it was logged; 0 and 1: all
	client   *client
	throttle bool
	own      bool // sent by herdscan itself
}

// A ParseError is a place in a log that could not be read as a record. The
// Reader goes on behind it.
type ParseError struct {
	Source string // name of the input
	Line   int64  // from 1
	Offset int64  // bytes in the decompressed input
	Err    error
}

// Error gives source, line and reason.
func (e *ParseError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Source, e.Line, e.Err) }

// Unwrap returns the reason.
func (e *ParseError) Unwrap() error { return e.Err }

// parseErrorJSON is a ParseError in a saved Summary.
type parseErrorJSON struct {
	Source string
	Line   int64
	Offset int64
	Err    string
}

// MarshalJSON writes the reason as text.
func (e ParseError) MarshalJSON() ([]byte, error) {
	return json.Marshal(parseErrorJSON{e.Source, e.Line, e.Offset, e.Err.Error()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *ParseError) UnmarshalJSON(b []byte) error {
	var p parseErrorJSON
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*e = ParseError{p.Source, p.Line, p.Offset, errors.New(p.Err)}
	return nil
}

// Format is the kind of a log.
type Format uint8

// The formats.
const (
	FormatUnknown Format = iota
	FormatSlow           // slow query log, also TiDB's
	FormatGeneral        // general query log
	FormatSlowCSV        // rows of mysql.slow_log
	FormatGeneralCSV
)

// General reports whether it is a form of the general log.
func (f Format) General() bool { return f == FormatGeneral || f == FormatGeneralCSV }

// String returns the name used in reports: mysql-slow, mysql-general, ...
func (f Format) String() string {
	switch f {
	case FormatSlow:
		return "mysql-slow"
	case FormatGeneral:
		return "mysql-general"
	case FormatSlowCSV:
		return "mysql-slow-csv"
	case FormatGeneralCSV:
		return "mysql-general-csv"
	}
	return "unknown"
}

// Server is who wrote a log, as far as it matters for the meaning of its times.
type Server uint8

// The servers.
const (
	ServerUnknown Server = iota
	ServerMySQL
	ServerMariaDB
	ServerTiDB
)

// String returns the name of the server.
func (s Server) String() string {
	switch s {
	case ServerMySQL:
		return "MySQL"
	case ServerMariaDB:
		return "MariaDB"
	case ServerTiDB:
		return "TiDB"
	}
	return "unknown"
}

// MaxStatement is how many bytes of one statement are kept. Longer ones are
// classed by their beginning and told apart by beginning and length.
const MaxStatement = 1 << 20
