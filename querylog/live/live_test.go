package live_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/live"
)

// startServer runs a MariaDB of its own in a temporary folder and returns its DSN.
func startServer(t *testing.T, extra ...string) string {
	t.Helper()
	daemon, err1 := exec.LookPath("mariadbd")
	install, err2 := exec.LookPath("mariadb-install-db")
	if err1 != nil || err2 != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("mariadbd is not installed, and CI must have it")
		}
		t.Skip("mariadbd is not installed")
	}
	dir, err := os.MkdirTemp("", "hsdb") // short, for the length of a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "s")
	user := "--user=" + currentUser()
	if out, err := exec.Command(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", user).CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	args := append([]string{
		"--no-defaults", user, "--datadir=" + data, "--socket=" + socket, fmt.Sprintf("--port=%d", port), "--bind-address=127.0.0.1",
		"--skip-name-resolve", "--skip-log-bin", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
		"--pid-file=" + filepath.Join(dir, "pid"),
	}, extra...)
	cmd := exec.Command(daemon, args...)
	log, err := os.Create(filepath.Join(dir, "err"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
	})
	dsn := fmt.Sprintf("root@tcp(127.0.0.1:%d)/", port)
	waitFor(t, dsn, log.Name())
	return dsn
}

func currentUser() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}

// waitFor returns when the server answers.
func waitFor(t *testing.T, dsn, log string) {
	t.Helper()
	db := open(t, dsn)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for db.PingContext(ctx) != nil {
		select {
		case <-ctx.Done():
			text, _ := os.ReadFile(log)
			t.Fatalf("the server does not answer:\n%s", text)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec1(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// stampede runs n copies of a statement at once.
func stampede(t *testing.T, db *sql.DB, n int, text string) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := db.Exec(text); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestServer(t *testing.T) {
	dsn := startServer(t, "--log-output=TABLE", "--slow-query-log=1", "--general-log=1", "--long-query-time=0", "--performance-schema=ON", "--default-time-zone=-05:00")
	app := open(t, dsn)
	app.SetMaxOpenConns(40)
	exec1(t, app, "CREATE DATABASE shop")
	exec1(t, app, "CREATE TABLE shop.price (sku VARCHAR(20) PRIMARY KEY, v INT)")
	exec1(t, app, "INSERT INTO shop.price VALUES ('A1', 5)")
	before := time.Now()
	stampede(t, app, 30, "SELECT v FROM shop.price JOIN (SELECT SLEEP(0.3)) AS io WHERE sku = 'A1'")
	exec1(t, app, "SET SESSION time_zone = '+03:00'")
	ctx := context.Background()

	t.Run("tables", func(t *testing.T) {
		s, err := live.Open(ctx, live.Config{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sum, err := s.ReadTables(ctx)
		if err != nil {
			t.Fatal(err)
		}
		from, to := sum.Span()
		if from.Before(before.Add(-time.Minute)) || to.After(time.Now().Add(time.Minute)) {
			t.Errorf("span %v to %v, now is %v: the time zone was lost", from, to, time.Now().UTC())
		}
		wantStampede(t, sum, 30)
		wantNoOwn(t, sum)
	})

	t.Run("sample", func(t *testing.T) {
		s, err := live.Open(ctx, live.Config{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stop, cancel := context.WithCancel(ctx)
		looks := 0
		sum, err := s.Sample(stop, live.SampleOptions{Every: 200 * time.Millisecond, Progress: func(n uint64) {
			switch looks++; looks {
			case 2:
				stampede(t, app, 25, "SELECT v + 1 FROM shop.price WHERE sku = 'B2'")
			case 4:
				cancel()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if n := sum.Statements(); n < 25 || n > 60 {
			t.Errorf("%d statements counted, 25 were run", n)
		}
		wantNoOwn(t, sum)
	})

	t.Run("read only", func(t *testing.T) {
		for _, a := range live.ExplainAccess() {
			if !strings.Contains(a.SQL, "/* herdscan */") {
				t.Errorf("%s is not marked", a.SQL)
			}
			for _, verb := range []string{"INSERT", "UPDATE ", "DELETE", "SET GLOBAL", "FLUSH", "TRUNCATE"} {
				if strings.Contains(strings.ToUpper(a.SQL), verb) {
					t.Errorf("%s writes", a.SQL)
				}
			}
		}
	})
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
