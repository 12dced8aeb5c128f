package live_test

import (
	"context"
	"database/sql"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/sqltext"
)

// server is a MariaDB of a test's own, in a temporary folder.
type server struct {
	addr string
	dsn  string // of root
	args []string
	log  *os.File
	cmd  *exec.Cmd
}

// startServer runs a server with further arguments until the test ends.
func startServer(t *testing.T, extra ...string) *server {
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
	data, user := filepath.Join(dir, "data"), "--user="+currentUser()
	if out, err := exec.Command(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", user).CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String()}
	s.dsn = "root@tcp(" + s.addr + ")/"
	_, port, _ := net.SplitHostPort(s.addr)
	l.Close()
	s.args = append([]string{
		daemon, "--no-defaults", user, "--datadir=" + data, "--socket=" + filepath.Join(dir, "s"), "--port=" + port, "--bind-address=0.0.0.0",
		"--skip-name-resolve", "--skip-log-bin", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
		"--pid-file=" + filepath.Join(dir, "pid"),
	}, extra...)
	if s.log, err = os.Create(filepath.Join(dir, "err")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.kill()
		s.log.Close()
	})
	s.start(t)
	return s
}

// start runs the server and returns when it answers.
func (s *server) start(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	db := s.open(t, "")
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for db.PingContext(ctx) != nil {
		select {
		case <-ctx.Done():
			text, _ := os.ReadFile(s.log.Name())
			t.Fatalf("the server does not answer:\n%s", text)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// kill ends the server as a crash does.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// open returns connections to the server; params is what follows the ? of a DSN.
func (s *server) open(t *testing.T, params string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", s.dsn+"?"+params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func currentUser() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}

// run sends statements, one after the other.
func run(t *testing.T, db *sql.DB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
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

const (
	slowRead = "SELECT v FROM shop.price JOIN (SELECT SLEEP(0.4)) AS io WHERE sku = 'A1'"
	fastRead = "SELECT v + 1 FROM shop.price WHERE sku = 'B2'"
)

func makeShop(t *testing.T, s *server) {
	t.Helper()
	run(t, s.open(t, ""), "CREATE DATABASE shop", "CREATE TABLE shop.price (sku VARCHAR(20) PRIMARY KEY, v INT)", "INSERT INTO shop.price VALUES ('A1', 5)",
		"CREATE USER blind@'%'", "CREATE USER watcher@'%'", "GRANT SELECT ON performance_schema.* TO watcher@'%'", "GRANT PROCESS ON *.* TO watcher@'%'", "CREATE USER web@'%'", "GRANT ALL ON shop.* TO web@'%'")
}

// total returns how many statements of the shape of one were counted.
func total(sum *querylog.Summary, statement string) uint64 {
	var lex sqltext.Lexer
	return sum.Starts(lex.Sum([]byte(statement)).Shape).Total()
}
