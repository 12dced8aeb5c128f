//go:build unix

package cmd

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan/redistest"
)

// startMariaDB runs a server of the test's own and returns its DSN and connections to it.
func startMariaDB(t *testing.T, extra ...string) (string, *sql.DB) {
	t.Helper()
	daemon, install := redistest.Binary(t, "mariadbd"), redistest.Binary(t, "mariadb-install-db")
	dir, err := os.MkdirTemp("", "hsdb") // short, for the length of a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, user := "--datadir="+filepath.Join(dir, "data"), "--user="+os.Getenv("USER")
	if os.Geteuid() == 0 {
		user = "--user=root"
	}
	if out, err := exec.Command(install, "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db", user).CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	l.Close()
	server := exec.Command(daemon, append([]string{
		"--no-defaults", user, data, "--socket=" + filepath.Join(dir, "s"), "--port=" + port, "--bind-address=127.0.0.1", "--skip-name-resolve",
		"--skip-log-bin", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--pid-file=" + filepath.Join(dir, "pid"),
	}, extra...)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	dsn := "root@tcp(" + addr + ")/"
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	until(t, func(ctx context.Context) bool { return db.PingContext(ctx) == nil })
	return dsn, db
}

// until waits for what must become true within a minute.
func until(t *testing.T, ok func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ok(ctx) {
		select {
		case <-ctx.Done():
			t.Fatal("waited for a minute")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestLiveInterrupted presses Ctrl-C while the program samples a server.
func TestLiveInterrupted(t *testing.T) {
	dsn, db := startMariaDB(t, "--performance-schema=ON")
	db.SetMaxOpenConns(40)
	herd := exec.Command(os.Args[0], "querylog", "--live", "--format", "json")
	herd.Args[0] = "herdscan" // by this name the test's binary is the program
	herd.Env = append(os.Environ(), "HERDSCAN_DSN="+dsn)
	var out, errs bytes.Buffer
	herd.Stdout, herd.Stderr = &out, &errs
	if err := herd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = herd.Process.Kill() }()
	looks := func(ctx context.Context) (n int) { // at the counters, but for the first
		_ = db.QueryRowContext(ctx, "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE '%AS `herdscan`%LAST_SEEN%'").Scan(&n)
		return n
	}
	until(t, func(ctx context.Context) bool { return looks(ctx) > 0 })
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if _, err := db.Exec("SELECT 'A1', SLEEP(0.5)"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := looks(t.Context())
	until(t, func(ctx context.Context) bool { return looks(ctx) > seen+1 })
	if err := herd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = herd.Wait()
	if code := herd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	var d report.Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	if len(d.Findings) == 0 || d.Findings[0].Rule != "HS502" || !strings.Contains(d.Findings[0].Subject, "sleep(?)") {
		t.Errorf("findings %+v", d.Findings)
	}
	if c := d.Coverage[0]; !strings.Contains(strings.Join(c.Notes, "\n"), "all statements are counted") {
		t.Errorf("coverage %+v", c)
	}
	for _, f := range d.Findings {
		if strings.Contains(f.Subject, "performance_schema") || strings.Contains(f.Subject, "processlist") {
			t.Errorf("herdscan found itself: %s", f.Subject)
		}
	}
}

// TestLogTablesDenied reads log tables without the right to: never an empty log.
func TestLogTablesDenied(t *testing.T) {
	dsn, db := startMariaDB(t, "--log-output=TABLE", "--slow-query-log=1", "--long-query-time=0")
	if _, err := db.Exec("CREATE USER bare@'127.0.0.1' IDENTIFIED BY 'f1gleaf'"); err != nil {
		t.Fatal(err)
	}
	r := runner{env: map[string]string{"HERDSCAN_DSN": strings.Replace(dsn, "root@", "bare:f1gleaf@", 1)}}.run("querylog")
	r.want(t, exitError, "mysql.slow_log", "denied", "--explain-access")
	r.never(t, "f1gleaf", "nothing to judge")
}

func TestLiveUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--live", "slow.log"},
		{"--defaults-file", "my.cnf", "slow.log"},
		{"--live", "--for", "-1s"},
	} {
		runner{}.run(append([]string{"querylog"}, args...)...).want(t, exitError)
	}
}
