//go:build unix

package live_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/live"
)

// sampling is a Sample that is driven by its own looks.
type sampling struct {
	account string        // that samples
	timeout time.Duration // of herdscan's statements
	limit   time.Duration // of it all; 0: until the last step
	steps   []func()      // done after the second look, and every second one from then
}

// sample runs the steps and returns what was seen.
func (x sampling) sample(t *testing.T, s *server) *querylog.Summary {
	t.Helper()
	if x.account == "" {
		x.account = "watcher"
	}
	if x.limit == 0 {
		x.limit = time.Minute
	}
	w, err := live.Open(t.Context(), live.Config{DSN: x.account + "@tcp(" + s.addr + ")/", Timeout: x.timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := 0
	sum, err := w.Sample(ctx, live.SampleOptions{For: x.limit, Every: 200 * time.Millisecond, Processes: 20 * time.Millisecond, Progress: func(uint64) {
		looks++
		switch k := looks/2 - 1; {
		case looks%2 != 0 || k < 0:
		case k < len(x.steps):
			x.steps[k]()
		default:
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// async is a step that does not hold up the looks: the next one waits for it.
func async(do func()) (begin, end func()) {
	done := make(chan struct{})
	return func() {
		go func() {
			defer close(done)
			do()
		}()
	}, func() { <-done }
}

func wantNote(t *testing.T, sum *querylog.Summary, want string) {
	t.Helper()
	notes := notesOf(sum)
	if !strings.Contains(notes, want) {
		t.Errorf("no note %q in:\n%s", want, notes)
	}
}

func notesOf(sum *querylog.Summary) string { return strings.Join(sum.Coverage()[0].Notes, "\n") }

// wantCounted compares what was counted with the server's own counter, which
// takes no lock and so may lose some of those that end at one moment.
func wantCounted(t *testing.T, db *sql.DB, sum *querylog.Summary, statement string, n uint64, digest string) {
	t.Helper()
	var server uint64
	err := db.QueryRow("SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE '" + digest + "'").Scan(&server)
	if err != nil {
		t.Fatal(err)
	}
	if got := total(sum, statement); got != server || got > n || got < n*9/10 {
		t.Errorf("%d counted, the server counted %d, and %d were run: %s", got, server, n, statement)
	}
}

func TestSample(t *testing.T) {
	s := startServer(t, "--performance-schema=ON", "--max-connections=300")
	makeShop(t, s)
	app := s.open(t, "")
	app.SetMaxOpenConns(60)

	t.Run("counts and texts", func(t *testing.T) {
		begin, end := async(func() { stampede(t, app, 50, slowRead) })
		fast := func() { stampede(t, app, 70, fastRead) }
		sum := sampling{steps: []func(){begin, end, fast}}.sample(t, s)
		wantCounted(t, app, sum, slowRead, 50, "%SLEEP%")
		wantCounted(t, app, sum, fastRead, 70, "SELECT `v` + ?%")
		a := querylog.Analyse(sum, querylog.AnalyseOptions{})
		found := false
		for _, f := range a.Findings {
			if f.Rule == "HS502" && strings.Contains(f.Subject, "sleep(?)") {
				found = true
				if f.Count < 25 || f.Count > 50 || f.AtOnce < 10 || f.AtOnce > 50 || f.HostTotal != 1 || !strings.Contains(string(f.Members[0].Sample), "'A1'") {
					t.Errorf("stampede of %d, %d at once, %d clients, %q", f.Count, f.AtOnce, f.HostTotal, f.Members[0].Sample)
				}
			}
		}
		if !found {
			t.Errorf("no stampede in %+v", a.Findings)
		}
		wantNoOwn(t, sum)
		wantNote(t, sum, "all statements are counted by digest")
	})

	t.Run("quiet", func(t *testing.T) {
		sum := sampling{steps: []func(){func() {}, func() {}}}.sample(t, s)
		if n := sum.Statements(); n != 0 {
			t.Errorf("%d statements counted on a quiet server", n)
		}
	})

	t.Run("prepared", func(t *testing.T) {
		begin, end := async(func() {
			if _, err := app.Exec("SELECT v FROM shop.price JOIN (SELECT SLEEP(?)) AS io", 0.4); err != nil {
				t.Error(err)
			}
		})
		sum := sampling{steps: []func(){begin, end, func() {}, func() {}, func() {}, func() {}}}.sample(t, s)
		if n := total(sum, "SELECT v FROM shop.price JOIN (SELECT SLEEP(1)) AS io"); n != 1 {
			t.Errorf("%d prepared statements counted, 1 was run", n)
		}
		wantNote(t, sum, "1 executions of prepared statements")
	})

	t.Run("no privileges", func(t *testing.T) {
		begin, end := async(func() { stampede(t, app, 5, slowRead) })
		sum := sampling{account: "blind", steps: []func(){begin, end}}.sample(t, s)
		wantNote(t, sum, "performance_schema may not be read")
		wantNote(t, sum, "no PROCESS")
		if sum.Coverage()[0].SampleKind != querylog.SampledProcesses {
			t.Error("not marked as sampled")
		}
	})

	t.Run("connection killed", func(t *testing.T) {
		kill := func() {
			var id int
			if err := app.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'watcher'").Scan(&id); err != nil {
				t.Error(err)
			}
			run(t, app, fmt.Sprintf("KILL %d", id))
		}
		sum := sampling{steps: []func(){kill, func() {}, func() { stampede(t, app, 30, fastRead) }}}.sample(t, s)
		wantNote(t, sum, "the server was lost from")
		if strings.Contains(notesOf(sum), "started anew") || !sum.Coverage()[0].Complete {
			t.Errorf("%+v", sum.Coverage()[0])
		}
		if n := total(sum, fastRead); n < 27 || n > 30 {
			t.Errorf("%d statements counted after the gap, 30 were run", n)
		}
	})

	t.Run("server hangs", func(t *testing.T) {
		stop := func() {
			p := s.cmd.Process
			if err := p.Signal(syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			time.AfterFunc(time.Second, func() { _ = p.Signal(syscall.SIGCONT) })
		}
		sum := sampling{timeout: 300 * time.Millisecond, steps: []func(){stop, func() {}}}.sample(t, s)
		wantNote(t, sum, "the server was lost from")
	})

	t.Run("server restarted", func(t *testing.T) {
		again := func() {
			s.kill()
			s.start(t)
		}
		sum := sampling{steps: []func(){again, func() {}, func() { stampede(t, app, 30, fastRead) }}}.sample(t, s)
		wantNote(t, sum, "started anew 1 times")
		if n := total(sum, fastRead); n < 27 || n > 30 {
			t.Errorf("%d statements counted after the restart, 30 were run", n)
		}
	})

	t.Run("server gone", func(t *testing.T) {
		sum := sampling{limit: 1500 * time.Millisecond, steps: []func(){s.kill}}.sample(t, s)
		c := sum.Coverage()[0]
		if c.Complete || !strings.Contains(c.Stopped, "the server was lost") {
			t.Errorf("%+v", c)
		}
	})
}

func TestSampleWithoutCounters(t *testing.T) {
	s := startServer(t, "--performance-schema=OFF")
	makeShop(t, s)
	app := s.open(t, "")
	app.SetMaxOpenConns(30)
	begin, end := async(func() { stampede(t, app, 25, slowRead) })
	sum := sampling{steps: []func(){begin, end, func() { stampede(t, app, 3, slowRead) }}}.sample(t, s)
	if n := total(sum, slowRead); n < 20 || n > 28 {
		t.Errorf("%d statements of 0.4 s counted, 28 were run", n)
	}
	wantNoOwn(t, sum)
	wantNote(t, sum, "performance_schema is off")
	a := querylog.Analyse(sum, querylog.AnalyseOptions{})
	if len(a.Findings) == 0 || a.Findings[len(a.Findings)-1].Rule != "HS507" {
		t.Errorf("not told as a sample: %+v", a.Findings)
	}
}

func TestSampleFullTable(t *testing.T) {
	s := startServer(t, "--performance-schema=ON", "--performance-schema-digests-size=200")
	makeShop(t, s)
	app := s.open(t, "")
	many := func() {
		for i := range 300 {
			run(t, app, fmt.Sprintf("SELECT v AS c%d FROM shop.price", i))
		}
	}
	sum := sampling{steps: []func(){many}}.sample(t, s)
	wantNote(t, sum, "the digest table is full")
	sum = sampling{steps: []func(){func() {}}}.sample(t, s)
	wantNote(t, sum, "was full before")
}

// TestDigestShapes wants each statement to be told to the digest that the
// server counts it under.
func TestDigestShapes(t *testing.T) {
	s := startServer(t, "--performance-schema=ON")
	makeShop(t, s)
	app := s.open(t, "")
	app.SetMaxOpenConns(1)
	const digests = "performance_schema.events_statements_summary_by_digest"
	for _, text := range []string{
		"SELECT p.v, COUNT(*) FROM shop.price p WHERE p.sku IN ('a','b','c') AND p.v > -1 GROUP BY p.v ORDER BY 1 DESC LIMIT 10",
		"SELECT p.v FROM shop.price p LEFT JOIN shop.price q ON (p.sku=q.sku) WHERE p.v BETWEEN 1 AND 20 OR q.v IS NULL LIMIT 5, 10",
		"INSERT INTO shop.price (sku, v) VALUES ('x1', 1), ('x2', 2) ON DUPLICATE KEY UPDATE v = VALUES(v)",
		"SELECT `v` FROM `shop`.`price` WHERE `sku`=0x41 AND v!=3 AND v<>4",
		"SELECT CAST(v AS CHAR(10)), IFNULL(v, 0), v*-1, v-1 FROM shop.price WHERE NOT (v = 1) /* c */ -- x",
		"SET @a := 5", "SELECT @@version, @a",
		"SELECT SQL_NO_CACHE DISTINCT v FROM shop.price USE INDEX (PRIMARY) WHERE INTERVAL 1 DAY + NOW() > CURRENT_TIMESTAMP()",
		"SELECT COUNT(DISTINCT v) AS c, SUBSTR(sku, 2) FROM shop.price HAVING c > 3",
		"SELECT v FROM shop.price WHERE sku = _utf8'a' COLLATE utf8_bin AND v = b'01'",
		"SELECT v FROM shop.price WHERE sku = 'it''s' AND v = 1.5e3 UNION ALL SELECT v FROM shop.price",
		"SELECT " + strings.Repeat("v + 1, ", 400) + "v FROM shop.price", // longer than a digest
	} {
		run(t, app, "TRUNCATE "+digests, text)
		rows, err := app.Query("SELECT DIGEST_TEXT FROM " + digests + " WHERE DIGEST_TEXT NOT LIKE 'TRUNCATE%'")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for rows.Next() {
			var d string
			if err := rows.Scan(&d); err != nil {
				t.Fatal(err)
			}
			all = append(all, d)
		}
		rows.Close()
		if len(all) != 1 {
			t.Fatalf("%d digests of %s: %q", len(all), text, all)
		}
		if !live.SameShape(all[0], text) {
			t.Errorf("not told to its digest:\n%.200s\n%.200s ... %q", text, all[0], all[0][max(0, len(all[0])-40):])
		}
	}
}
