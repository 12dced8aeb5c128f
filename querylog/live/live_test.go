package live_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/live"
	"github.com/herdscan/herdscan/querylog/sqltext"
)

// rails is what a framework sets that keeps its times in UTC.
const rails = "time_zone=%27%2B00%3A00%27"

func readTables(t *testing.T, s *server, params string) *querylog.Summary {
	t.Helper()
	w, err := live.Open(t.Context(), live.Config{DSN: s.dsn + "?" + params})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	sum, err := w.ReadTables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestTables reads log tables that sessions wrote in several time zones.
func TestTables(t *testing.T) {
	s := startServer(t, "--log-output=TABLE", "--slow-query-log=1", "--general-log=1", "--long-query-time=0", "--default-time-zone=-05:00")
	makeShop(t, s)
	app, other := s.open(t, ""), s.open(t, rails)
	app.SetMaxOpenConns(40)
	other.SetMaxOpenConns(3)
	empty := func() { run(t, app, "TRUNCATE mysql.slow_log", "TRUNCATE mysql.general_log") }
	wantNow := func(t *testing.T, sum *querylog.Summary, since time.Time) {
		t.Helper()
		from, to := sum.Span()
		if from.Before(since.Add(-time.Minute)) || to.After(time.Now().Add(time.Minute)) {
			t.Errorf("span %v to %v, it was from %v to %v", from, to, since.UTC(), time.Now().UTC())
		}
	}
	mixed := func() {
		for range 10 {
			run(t, other, fastRead)
		}
		stampede(t, app, 30, slowRead)
		for range 10 {
			run(t, other, fastRead)
		}
	}

	t.Run("slow log", func(t *testing.T) {
		before := time.Now()
		empty()
		mixed()
		sum := readTables(t, s, "")
		wantNow(t, sum, before)
		wantStampede(t, sum, 30)
		wantNoOwn(t, sum)
		if c := sum.Coverage()[0]; c.Falsified == 0 || c.Skipped != 0 || !c.Complete {
			t.Errorf("%+v", c)
		}
		wantNow(t, readTables(t, s, rails), before) // whatever the reader's zone is
	})

	t.Run("every session in another zone", func(t *testing.T) {
		before := time.Now()
		empty()
		for range 100 {
			run(t, other, fastRead)
		}
		sum := readTables(t, s, "")
		var lex sqltext.Lexer
		n := uint64(0)
		for b := range sum.Starts(lex.Sum([]byte(fastRead)).Shape).Bins() {
			if at := time.Unix(0, b.At); at.After(before.Add(-time.Minute)) && at.Before(time.Now().Add(time.Minute)) {
				n += b.N
			}
		}
		if n != 100 {
			t.Errorf("%d of 100 are in their time", n)
		}
	})

	t.Run("general log", func(t *testing.T) {
		before := time.Now()
		empty()
		run(t, app, "SET GLOBAL slow_query_log = 0", "TRUNCATE mysql.slow_log")
		mixed()
		sum := readTables(t, s, "")
		wantNow(t, sum, before)
		wantNoOwn(t, sum)
		if n := total(sum, slowRead); n != 30 {
			t.Errorf("%d of 30 read", n)
		}
	})

	t.Run("damaged rows", func(t *testing.T) {
		run(t, app, "SET GLOBAL general_log = 0", "TRUNCATE mysql.slow_log")
		run(t, app, "SET GLOBAL slow_query_log = 0", "CREATE TABLE mysql.damaged LIKE mysql.slow_log")
		row := "INSERT INTO mysql.damaged SET start_time = %s, user_host = 'a[a] @ h [1.2.3.4]', query_time = %s, lock_time = 0, rows_sent = 1, rows_examined = 1, db = 'shop', last_insert_id = 0, insert_id = 0, server_id = 1, sql_text = 'SELECT 1', thread_id = 7, rows_affected = 0"
		one := s.open(t, "sql_mode=%27%27")
		one.SetMaxOpenConns(1)
		for i := range 30 {
			at := "NOW(6)"
			if i%10 == 3 {
				at = "'0000-00-00 00:00:00'"
			}
			run(t, one, fmt.Sprintf(row, at, "'838:59:59.999999'"))
		}
		run(t, app, "DROP TABLE mysql.slow_log", "RENAME TABLE mysql.damaged TO mysql.slow_log")
		c := readTables(t, s, "").Coverage()[0]
		if c.Read != 27 || c.Skipped != 3 || len(c.Errors) != 3 || c.Errors[1].Line != 14 {
			t.Errorf("%+v", c)
		}
	})
}

func TestReadOnly(t *testing.T) {
	for _, a := range live.ExplainAccess() {
		if !strings.HasPrefix(a.SQL, "/* herdscan */ ") {
			t.Errorf("%s is not marked", a.SQL)
		}
		verb, _, _ := strings.Cut(strings.TrimPrefix(a.SQL, "/* herdscan */ "), " ")
		if verb != "SELECT" && verb != "SHOW" && !strings.HasPrefix(a.SQL, "/* herdscan */ SET SESSION ") {
			t.Errorf("%s may write", a.SQL)
		}
	}
}

func wantStampede(t *testing.T, sum *querylog.Summary, n uint64) {
	t.Helper()
	a := querylog.Analyse(sum, querylog.AnalyseOptions{})
	for _, f := range a.Findings {
		if f.Rule == "HS502" && strings.Contains(f.Subject, "from shop.price") {
			if f.Count != n {
				t.Errorf("stampede of %d copies, %d were run", f.Count, n)
			}
			return
		}
	}
	t.Errorf("no stampede found: %+v", a)
}

func wantNoOwn(t *testing.T, sum *querylog.Summary) {
	t.Helper()
	a := querylog.Analyse(sum, querylog.AnalyseOptions{})
	for _, f := range a.Findings {
		if strings.Contains(f.Subject, "processlist") || strings.Contains(f.Subject, "events_statements") {
			t.Errorf("herdscan found itself: %s", f.Subject)
		}
	}
}

func TestNoServer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	if _, err := live.Open(context.Background(), live.Config{}); err == nil {
		t.Error("no server was given, but one was opened")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // accepts, but never answers
	_, err = live.Open(context.Background(), live.Config{DSN: "u:secret@tcp(" + l.Addr().String() + ")/", Timeout: 200 * time.Millisecond})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
