package live

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// counter is a known row of the digest table.
type counter struct {
	n, wait uint64 // statements, and how long they took in picoseconds
	shape   uint64
}

// growth is what one row of the digest table counted between two looks.
type growth struct {
	schema, text string
	shape        uint64
	n            uint64
	mean         time.Duration // of the statements, 0 if unknown
}

// digests follows performance_schema.events_statements_summary_by_digest.
type digests struct {
	lex    *sqltext.Lexer
	own    func(shape uint64) bool
	rows   map[string]counter // by schema and digest; nil: nothing to compare with yet
	shapes shapes
	at     time.Time // of the last look

	full    bool   // the table was full when it was first looked at
	lost    uint64 // statements without a digest since then
	strayed uint64 // of them since the look before
	lostAll uint64
}

// look returns what was counted since the last look. The first one only
// finds out where the counters stand. Later ones ask for the rows that were
// touched since: a full table has 5,000 to 10,000, of which most rest.
func (d *digests) look(ctx context.Context, s *Server) (grown []growth, err error) {
	begin := time.Now()
	text := sqlDigests
	if d.rows != nil {
		text = digestsSince(begin.Sub(d.at))
	}
	first := d.rows == nil
	rows := d.rows
	if first {
		rows = map[string]counter{}
	}
	d.strayed = 0
	err = s.query(ctx, text, func(r *sql.Rows) error {
		var g growth
		var id string
		var c counter
		if err := r.Scan(&g.schema, &id, &g.text, &c.n, &c.wait); err != nil {
			return err
		}
		if id == "" {
			d.stray(c.n, first)
			return nil
		}
		key := g.schema + "\x00" + id
		before, known := rows[key]
		if c.shape = before.shape; !known {
			c.shape = d.shapes.add(d.lex, g.text)
		}
		rows[key] = c
		if first || d.own(c.shape) || strings.Contains(g.text, ownName) {
			return nil
		}
		if c.n < before.n { // the table was emptied in between
			before = counter{}
		}
		if g.n = c.n - before.n; g.n > 0 {
			g.shape = c.shape
			g.mean = time.Duration((c.wait - min(before.wait, c.wait)) / g.n / 1000)
			g.text = statementOf(g.text)
			grown = append(grown, g)
		}
		return nil
	})
	if err != nil {
		return nil, err // the counts stay, so that the next look has them
	}
	d.rows = rows
	d.at = begin.Add(time.Since(begin) / 2).UTC()
	return grown, nil
}

// stray takes the row of those for whom the table had no place.
func (d *digests) stray(n uint64, first bool) {
	if first {
		d.full, d.lostAll = n > 0, n
		return
	}
	if n < d.lostAll {
		d.lostAll = 0
	}
	d.strayed = n - d.lostAll
	d.lost += d.strayed
	d.lostAll = n
}

// forget makes the next look the first one: there is a gap behind.
func (d *digests) forget() { d.rows = nil }

// digestsSince asks for the rows that were touched since the last look. Times
// there are whole seconds in MariaDB.
func digestsSince(ago time.Duration) string {
	return fmt.Sprintf("%s WHERE DIGEST IS NULL OR UNIX_TIMESTAMP(LAST_SEEN) >= UNIX_TIMESTAMP() - %d", sqlDigests, int(ago.Seconds())+3)
}

// statementOf writes the text of a digest as a statement.
func statementOf(text string) string {
	text = strings.TrimSuffix(strings.TrimRight(text, " "), " ...")
	return strings.NewReplacer("(...)", "(?)", "...", "?").Replace(text)
}
