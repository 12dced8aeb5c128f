package live

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Server is a connection to a running server.
type Server struct {
	db      *sql.DB
	conn    *sql.Conn
	timeout time.Duration

	Version       string
	MariaDB       bool
	LogOutput     string // FILE, TABLE, or both
	SlowLog       bool
	GeneralLog    bool
	LongQueryTime float64 // seconds
	PerfSchema    bool
	connection    uint64
	now           time.Time     // of the server, when the connection was made
	ahead         time.Duration // the server's clock from ours
	address       string
	account       string // the user
}

// Open connects and reads the settings that matter. The password never shows in an error.
func Open(ctx context.Context, c Config) (*Server, error) {
	cfg, err := c.driver()
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{db: sql.OpenDB(connector), timeout: cfg.ReadTimeout, address: cfg.Addr, account: cfg.User}
	s.db.SetMaxOpenConns(1)
	if err := s.connect(ctx); err != nil {
		s.db.Close()
		return nil, fmt.Errorf("%s: %w", cfg.Addr, err)
	}
	return s, nil
}

// connect takes one connection and makes it read-only.
func (s *Server) connect(ctx context.Context) error {
	dial, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.db.Conn(dial)
	if err != nil {
		return err
	}
	s.conn = conn
	for _, text := range []string{sqlReadOnly, sqlZone} {
		if _, err := conn.ExecContext(dial, text); err != nil {
			return err
		}
	}
	var now string
	asked := time.Now()
	err = conn.QueryRowContext(dial, sqlServer).Scan(&s.Version, &s.connection, &now, &s.LogOutput, &s.SlowLog, &s.GeneralLog, &s.LongQueryTime, &s.PerfSchema)
	s.MariaDB = strings.Contains(s.Version, "MariaDB")
	if at, ok := parseUnix(now); ok {
		s.now, s.ahead = at, at.Sub(asked.Add(time.Since(asked)/2))
	}
	return err
}

// reconnect takes a new connection for one that was lost.
func (s *Server) reconnect(ctx context.Context) error {
	if s.conn != nil {
		_ = s.conn.Close() // broken or not, it is not used again
	}
	s.conn = nil
	return s.connect(ctx)
}

// String names the server, without user or password.
func (s *Server) String() string { return s.address }

// Close ends the connection.
func (s *Server) Close() error {
	if s.conn != nil {
		s.conn.Close()
	}
	return s.db.Close()
}

// query sends one statement with a deadline.
func (s *Server) query(ctx context.Context, text string, each func(*sql.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	rows, err := s.conn.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// variable reads one number of SHOW ... LIKE; 0 when there is none.
func (s *Server) variable(ctx context.Context, text string) (n uint64) {
	_ = s.query(ctx, text, func(r *sql.Rows) error { // a server without it answers nothing
		var name string
		return r.Scan(&name, &n)
	})
	return n
}
