package watch

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

	"github.com/go-sql-driver/mysql"

	"github.com/herdscan/herdscan/querylog/live"
	"github.com/herdscan/herdscan/scan/redistest"
)

// A database is a MariaDB of the test's own.
type database struct {
	dsn  string
	args []string
	log  *os.File
	cmd  *exec.Cmd
}

func startDatabase(t *testing.T) *database {
	t.Helper()
	daemon, install := redistest.Binary(t, "mariadbd"), redistest.Binary(t, "mariadb-install-db")
	dir, err := os.MkdirTemp("", "hsdb") // short, for the length of a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, user := filepath.Join(dir, "data"), "--user="+os.Getenv("USER")
	if os.Geteuid() == 0 {
		user = "--user=root"
	}
	if out, err := exec.Command(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", user).CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	db := &database{dsn: fmt.Sprintf("root@tcp(127.0.0.1:%d)/", port), args: []string{
		daemon, "--no-defaults", user, "--datadir=" + data, "--socket=" + filepath.Join(dir, "s"), fmt.Sprintf("--port=%d", port), "--bind-address=127.0.0.1",
		"--skip-name-resolve", "--skip-log-bin", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
		"--pid-file=" + filepath.Join(dir, "pid"), "--performance-schema=ON", "--max-connections=300",
	}}
	if db.log, err = os.Create(filepath.Join(dir, "err")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.kill()
		db.log.Close()
	})
	db.start(t)
	return db
}

// start runs the server and returns when it answers.
func (d *database) start(t *testing.T) {
	t.Helper()
	d.cmd = exec.Command(d.args[0], d.args[1:]...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	db := d.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for db.PingContext(ctx) != nil {
		if !sleep(ctx, 50*time.Millisecond) {
			text, _ := os.ReadFile(d.log.Name())
			t.Fatalf("the server does not answer:\n%s", text)
		}
	}
}

// kill ends the server as a crash would.
func (d *database) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

func (d *database) open(t *testing.T) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(100)
	t.Cleanup(func() { db.Close() })
	return db
}

// A database that is killed, and clients that try again in step, each four
// seconds after the last time: a retry storm, told while it goes on.
func TestRetryStorm(t *testing.T) {
	t.Parallel()
	server, mariadb := redistest.Start(t), startDatabase(t)
	db := mariadb.open(t)
	ctx, stop := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	t.Cleanup(func() {
		stop()
		clients.Wait()
	})
	const pause = 4 * time.Second
	order := func(i int) error {
		_, err := db.ExecContext(ctx, fmt.Sprintf("SELECT %d AS order_id", i))
		return err
	}
	down, fail := context.WithCancel(ctx)
	for i := range 60 {
		clients.Go(func() {
			pace := time.Duration(5000+i*370%10_000) * time.Millisecond // each at its own
			sleep(down, pace/2)
			for down.Err() == nil {
				if err := order(i); err != nil && ctx.Err() == nil {
					break
				}
				sleep(down, pace)
			}
			for ctx.Err() == nil { // from the outage on
				// In step until a try succeeds, and one after the other has had enough.
				for try := 0; ctx.Err() == nil; try++ {
					sleep(ctx, time.Until(time.Now().Truncate(pause).Add(pause)))
					failed := false
					for range 4 {
						failed = order(i) != nil || failed
					}
					if !failed && try > 2+i%10 {
						break
					}
				}
				sleep(ctx, time.Hour)
			}
		})
	}
	clients.Go(func() { // ordinary traffic
		for ctx.Err() == nil {
			_, _ = db.ExecContext(ctx, "SELECT 'x' AS banner")
			sleep(ctx, 400*time.Millisecond)
		}
	})
	w, l := watching(t, server, Options{MySQL: &live.Config{DSN: mariadb.dsn}})
	awaitState(t, w, func(s State) bool { return s.Queries != nil && s.Queries.To.Sub(s.Queries.From) > 8*time.Second })
	if before := l.alarms(); len(before) > 0 {
		t.Fatalf("before the outage:\n%s", l)
	}
	mariadb.kill()
	fail()
	limited(t, w, "mysql")
	sleep(ctx, 7*time.Second) // the length of the outage
	mariadb.start(t)
	found := func() (subject string) {
		for _, e := range l.all() {
			if e.Rule == "HS505" && e.Stage == Begins {
				return e.Subject
			}
		}
		return ""
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("told:\n%s", l)
		}
	})
	awaitState(t, w, func(State) bool { return found() != "" })
	if subject := found(); !strings.Contains(subject, "order_id") {
		t.Errorf("the storm is of %q", subject)
	}
	unlimited(t, w, "mysql")
}

// Copies of one slow statement that run at the same time are told while they
// run.
func TestIdenticalStatements(t *testing.T) {
	t.Parallel()
	server, mariadb := redistest.Start(t), startDatabase(t)
	db := mariadb.open(t)
	w, l := watching(t, server, Options{MySQL: &live.Config{DSN: mariadb.dsn}})
	awaitState(t, w, func(s State) bool { return s.Queries != nil })
	var clients sync.WaitGroup
	for range 50 {
		clients.Go(func() {
			if _, err := db.ExecContext(t.Context(), "SELECT SLEEP(3), 42 AS price"); err != nil {
				t.Error(err)
			}
		})
	}
	const subject = "select sleep(?), ? as price"
	e := l.await(t, 1, "HS502", subject, Begins)[0]
	if e.Count < herdCopies || !strings.Contains(e.Text, "at once") {
		t.Errorf("%+v", e)
	}
	clients.Wait()
	l.await(t, 1, "HS502", subject, Ended)
}
