package live

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/querylog"
)

// ErrNoTable says that the server writes no log to its tables.
var ErrNoTable = errors.New("the server writes no query log to mysql.slow_log or mysql.general_log (log_output=TABLE)")

// ReadTables reads mysql.slow_log and mysql.general_log once, whichever holds
// rows, the slow log first because it knows durations.
func (s *Server) ReadTables(ctx context.Context) (*querylog.Summary, error) {
	out := &querylog.Summary{}
	n, err := s.readTable(ctx, out, sqlSlowLog, querylog.FormatSlowCSV, "mysql.slow_log")
	if err != nil || n > 0 {
		return out, err
	}
	n, err = s.readTable(ctx, out, sqlGeneral, querylog.FormatGeneralCSV, "mysql.general_log")
	if err == nil && n == 0 && !strings.Contains(s.LogOutput, "TABLE") {
		err = ErrNoTable
	}
	return out, err
}

// readTable counts the rows of one log table. The connection's read timeout
// bounds the wait for each packet, not the whole table.
func (s *Server) readTable(ctx context.Context, out *querylog.Summary, text string, f querylog.Format, table string) (n uint64, err error) {
	var rate uint64
	if f == querylog.FormatSlowCSV {
		rate = s.variable(ctx, sqlRate)
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
	t := tableReader{s: s, raw: make([]sql.RawBytes, len(names)), at: map[string]int{}}
	for i, name := range names {
		t.at[name] = i
	}
	into := make([]any, len(names))
	for i := range into {
		into[i] = &t.raw[i]
	}
	cov := querylog.Coverage{
		Source: s.address + " " + table, Format: f, Version: s.Version, Server: s.flavour(), Fine: true,
		SampleRate: rate, Complete: true,
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return n, err
		}
		e, ok := t.event(f)
		if !ok {
			cov.Skipped++
			continue
		}
		out.Observe(e, &cov)
		n++
	}
	cov.Falsified = t.shifted
	if err = rows.Err(); err != nil {
		cov.Complete, cov.Stopped = false, err.Error()
		err = fmt.Errorf("%s: %w", table, err)
	}
	if n > 0 || err != nil {
		out.Cover(cov)
	}
	return n, err
}

func (s *Server) flavour() querylog.Server {
	if s.MariaDB {
		return querylog.ServerMariaDB
	}
	return querylog.ServerMySQL
}

// tableReader turns rows into events.
type tableReader struct {
	s       *Server
	raw     []sql.RawBytes
	at      map[string]int
	event0  querylog.Event
	last    time.Time
	shifted uint64
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

// event reads one row.
func (t *tableReader) event(f querylog.Format) (*querylog.Event, bool) {
	e := &t.event0
	*e = querylog.Event{Query: e.Query[:0]}
	at, ok := parseUnix(string(t.raw[0]))
	if !ok {
		return nil, false
	}
	e.Time, e.Has = at, querylog.HasTime
	e.User, e.Host = querylog.ParseClient(t.get("user_host"))
	if v, ok := t.number("thread_id"); ok {
		e.ThreadID, e.Has = v, e.Has|querylog.HasThread
	}
	if f == querylog.FormatGeneralCSV {
		e.Query = append(e.Query, t.get("argument")...)
		e.Kind = querylog.CommandKind(t.get("command_type"))
	} else {
		t.slow(e)
	}
	e.Size = int64(len(e.Query))
	t.unshift(e)
	return e, true
}

// slow reads the columns of the slow log.
func (t *tableReader) slow(e *querylog.Event) {
	e.Query = append(e.Query, t.get("sql_text")...)
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

// unshift puts rows right that a session with a time zone of its own wrote.
// The table holds text in the zone of the writing session, and is read in the
// server's default zone, which almost all sessions keep. Rows come in the
// order of their ends: one that is ahead of the server's clock, or far behind
// the rows before it, is off by whole quarters of an hour.
func (t *tableReader) unshift(e *querylog.Event) {
	const quarter = 15 * time.Minute
	end := e.Time.Add(e.Duration)
	var shift time.Duration
	if ahead := end.Sub(t.s.now); !t.s.now.IsZero() && ahead > time.Minute {
		shift = -(ahead - time.Minute + quarter).Truncate(quarter)
	} else if back := t.last.Sub(end); !t.last.IsZero() && back > quarter-time.Minute {
		shift = back.Round(quarter)
	}
	if shift != 0 {
		e.Time, end = e.Time.Add(shift), end.Add(shift)
		t.shifted++
	}
	if end.After(t.last) {
		t.last = end
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
