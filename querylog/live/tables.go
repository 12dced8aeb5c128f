package live

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/herdscan/herdscan/querylog"
)

// ErrNoTable says that the server writes no log to its tables.
var ErrNoTable = errors.New("the server writes no query log to mysql.slow_log or mysql.general_log (log_output=TABLE)")

// ReadTables reads mysql.slow_log and mysql.general_log once, whichever holds
// rows, the slow log first because it knows durations.
func (s *Server) ReadTables(ctx context.Context) (*querylog.Summary, error) {
	out := &querylog.Summary{}
	n, err := s.readTable(ctx, out, sqlSlowLog, sqlLastSlow, querylog.FormatSlowCSV, "mysql.slow_log")
	if err != nil || n > 0 {
		return out, err
	}
	n, err = s.readTable(ctx, out, sqlGeneral, sqlLastGeneral, querylog.FormatGeneralCSV, "mysql.general_log")
	if err == nil && n == 0 && !strings.Contains(s.LogOutput, "TABLE") {
		err = ErrNoTable
	}
	return out, err
}

// readTable counts the rows of one log table. The connection's read timeout
// bounds the wait for each packet, not the whole table.
func (s *Server) readTable(ctx context.Context, out *querylog.Summary, text, last string, f querylog.Format, table string) (n uint64, err error) {
	var rate uint64
	if f == querylog.FormatSlowCSV {
		rate = s.variable(ctx, sqlRate)
	}
	ahead, err := s.zoneOf(ctx, last)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", table, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := s.conn.QueryContext(ctx, text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", table, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	t := newTableReader(s, names)
	cov := querylog.Coverage{
		Source: s.address + " " + table, Format: f, Version: s.Version, Server: s.flavour(), Fine: true,
		SampleRate: rate, Complete: true,
	}
	p := placer{now: s.now, ahead: ahead, emit: func(e *querylog.Event) { out.Observe(e, &cov) }}
	for rows.Next() {
		n++
		if err = rows.Scan(t.into...); err != nil {
			break
		}
		e, bad := t.event(f)
		if bad != nil {
			cov.Skipped++
			if len(cov.Errors) < querylog.MaxErrors {
				cov.Errors = append(cov.Errors, querylog.ParseError{Source: cov.Source + " row", Line: int64(n), Err: bad})
			}
			continue
		}
		p.add(e)
	}
	p.finish()
	cov.Falsified = p.moved
	if p.uniform > 0 {
		cov.Notes = append(cov.Notes, fmt.Sprintf("the table reaches %v into the future: %d rows were taken to be written by sessions whose time zone is that far ahead of the server's", p.ahead, p.uniform))
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		cov.Complete, cov.Stopped = false, err.Error()
		err = fmt.Errorf("%s: %w", table, err)
	}
	if n > 0 || err != nil {
		out.Cover(cov)
	}
	return n, err
}

// zoneOf says how far the most rows of a table are ahead of the server's
// clock. A table that is too long to find it out within the deadline is taken as
// it is.
func (s *Server) zoneOf(ctx context.Context, text string) (time.Duration, error) {
	quarters := map[int]uint64{}
	err := s.query(ctx, text, func(r *sql.Rows) error {
		var q float64
		var n uint64
		err := r.Scan(&q, &n)
		quarters[int(q)] += n
		return err
	})
	var said *mysql.MySQLError
	if err != nil && ctx.Err() == nil && !errors.As(err, &said) {
		return 0, s.reconnect(ctx)
	}
	return aheadOf(quarters), err
}

func (s *Server) flavour() querylog.Server {
	if s.MariaDB {
		return querylog.ServerMariaDB
	}
	return querylog.ServerMySQL
}

// tableReader turns rows into events.
type tableReader struct {
	s    *Server
	raw  []sql.RawBytes
	into []any // points to raw
	at   map[string]int
	row  querylog.Event
}

func newTableReader(s *Server, names []string) *tableReader {
	t := &tableReader{s: s, raw: make([]sql.RawBytes, len(names)), into: make([]any, len(names)), at: map[string]int{}}
	for i, name := range names {
		t.at[strings.ToLower(name)] = i
		t.into[i] = &t.raw[i]
	}
	return t
}

func (t *tableReader) get(name string) []byte {
	if i, ok := t.at[name]; ok {
		return t.raw[i]
	}
	return nil
}

func (t *tableReader) number(name string) (uint64, bool) {
	v, err := strconv.ParseUint(string(t.get(name)), 10, 64)
	return v, err == nil
}

// errNoTime says that a row has no time that can be read.
var errNoTime = errors.New("no time")

// event reads one row.
func (t *tableReader) event(f querylog.Format) (*querylog.Event, error) {
	e := &t.row
	*e = querylog.Event{Query: e.Query[:0]}
	at, ok := parseUnix(string(t.raw[0]))
	if !ok {
		return nil, errNoTime
	}
	e.Time, e.Has = at, querylog.HasTime
	e.User, e.Host = querylog.ParseClient(t.get("user_host"))
	if v, ok := t.number("thread_id"); ok {
		e.ThreadID, e.Has = v, e.Has|querylog.HasThread
	}
	if f == querylog.FormatGeneralCSV {
		t.text(e, "argument")
		e.Kind = querylog.CommandKind(t.get("command_type"))
	} else {
		t.text(e, "sql_text")
		t.slow(e)
	}
	return e, nil
}

// text takes the statement, of a long one its beginning.
func (t *tableReader) text(e *querylog.Event, column string) {
	text := t.get(column)
	e.Size = int64(len(text))
	e.Query = append(e.Query, text[:min(len(text), querylog.MaxStatement)]...)
}

// slow reads the columns of the slow log.
func (t *tableReader) slow(e *querylog.Event) {
	e.DB = string(t.get("db"))
	if d, ok := querylog.ParseClock(t.get("query_time")); ok {
		e.Duration, e.Has = d, e.Has|querylog.HasDuration
	}
	if v, ok := t.number("rows_sent"); ok {
		e.RowsSent, e.Has = v, e.Has|querylog.HasRowsSent
	}
	if v, ok := t.number("rows_examined"); ok {
		e.RowsExamined, e.Has = v, e.Has|querylog.HasRowsExamined
	}
	if v, ok := t.number("rows_affected"); ok {
		e.RowsAffected, e.Has = v, e.Has|querylog.HasRowsAffected
	}
	if !t.s.MariaDB {
		e.Time = e.Time.Add(-e.Duration) // MySQL stores the end
	}
}

// parseUnix reads UNIX_TIMESTAMP with its decimals.
func parseUnix(v string) (time.Time, bool) {
	sec, frac, _ := strings.Cut(v, ".")
	s, err := strconv.ParseInt(sec, 10, 64)
	if err != nil || s <= 0 {
		return time.Time{}, false
	}
	frac = (frac + "000000000")[:9]
	ns, err := strconv.ParseInt(frac, 10, 64)
	return time.Unix(s, ns).UTC(), err == nil
}
