package live

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// process is one statement that was caught running. However often it is seen,
// it is one.
type process struct {
	conn, query    uint64 // the connection, and the server's number of the statement, 0 if it gives none
	user, host, db string
	sql            []byte // its beginning
	size           int64
	shape, text    uint64
	prepared       bool
	start          time.Time // now less its age, when it was first seen
	seen           time.Time // last
}

// processes follows the process list.
type processes struct {
	lex     *sqltext.Lexer
	own     func(shape uint64) bool
	running map[uint64]*process // by connection
	account string              // that herdscan uses
	others  bool                // statements of another account were seen
	exact   bool                // ages have a fraction
}

// look returns the statements that ended since the last look.
func (p *processes) look(ctx context.Context, s *Server) (ended []*process, err error) {
	begin := time.Now().UTC()
	running := make(map[uint64]*process, len(p.running))
	text := sqlProcesses
	if p.exact = s.MariaDB; p.exact {
		text = sqlProcessesFine
	}
	var list []*process
	err = s.query(ctx, text, func(r *sql.Rows) error {
		q := &process{}
		var age float64 // ms
		if err := r.Scan(&q.conn, &q.user, &q.host, &q.db, &q.prepared, &age, &q.query, &q.size, &q.sql); err != nil {
			return err
		}
		q.start = begin.Add(-time.Duration(age * float64(time.Millisecond)))
		list = append(list, q)
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := begin.Add(time.Since(begin) / 2)
	for _, q := range list {
		old := p.running[q.conn]
		if old != nil && p.same(old, q) {
			old.seen = now
			running[q.conn] = old
			continue
		}
		if !p.know(q) {
			continue
		}
		q.seen = now
		running[q.conn] = q
	}
	for conn, old := range p.running {
		if running[conn] != old {
			ended = append(ended, old)
		}
	}
	p.running = running
	slices.SortFunc(ended, func(a, b *process) int { return a.start.Compare(b.start) })
	return ended, nil
}

// same says whether a connection still runs the statement it ran. Servers
// that number statements know; else it is the same text that began at the same
// time, as far as the server tells ages.
func (p *processes) same(old, q *process) bool {
	if q.query != 0 {
		return q.query == old.query
	}
	const grain = 1100 * time.Millisecond // ages are whole seconds
	return q.size == old.size && string(q.sql) == string(old.sql) && q.start.Sub(old.start).Abs() < grain
}

// know fills in what a statement is; it returns false for herdscan's own.
func (p *processes) know(q *process) bool {
	if strings.HasPrefix(string(q.sql), mark) {
		return false
	}
	sum := p.lex.Sum(q.sql)
	q.shape, q.text = sum.Shape, sum.Text
	if p.own(q.shape) {
		return false
	}
	if q.size > int64(len(q.sql)) {
		q.text ^= uint64(q.size) * 0x9E3779B97F4A7C15
	}
	if i := strings.LastIndexByte(q.host, ':'); i > 0 && strings.IndexByte(q.host, ':') == i {
		q.host = q.host[:i]
	} else if i > 0 && strings.HasPrefix(q.host, "[") {
		q.host = strings.Trim(q.host[:i], "[]")
	}
	p.others = p.others || q.user != p.account
	return true
}

// identical counts the copies of each text that run now.
func (p *processes) identical() map[uint64][]*process {
	same := map[uint64][]*process{}
	for _, q := range p.running {
		same[q.text] = append(same[q.text], q)
	}
	return same
}

// forget gives up what was running: the connection was lost.
func (p *processes) forget() { p.running = nil }
