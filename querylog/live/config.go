// Package live reads query logs from a running MySQL or MariaDB server: the
// log tables once, or samples of what runs. It never writes to the server.
package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"gopkg.in/ini.v1"
)

// Config says which server to ask. The zero value reads ~/.my.cnf if there is one.
type Config struct {
	// DSN in the form of go-sql-driver: user:password@tcp(host:3306)/.
	DSN string
	// DefaultsFile is an option file as the mysql client reads it; its
	// sections [client], [mysql] and [herdscan] count. It is not read when DSN is set.
	DefaultsFile string
	// Timeout bounds the dial and every statement. 0 means 10 s.
	Timeout time.Duration
}

// ErrNoServer says that neither a DSN nor an option file names a server.
var ErrNoServer = errors.New("no server given: pass a DSN in HERDSCAN_DSN, or an option file with --defaults-file or ~/.my.cnf")

// driver builds the driver's configuration.
func (c Config) driver() (*mysql.Config, error) {
	cfg, err := c.base()
	if err != nil {
		return nil, err
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = timeout, timeout, timeout
	cfg.ParseTime = false
	cfg.MultiStatements = false
	cfg.Logger = &mysql.NopLogger{} // what goes wrong is returned; the driver would print it to standard error
	return cfg, nil
}

func (c Config) base() (*mysql.Config, error) {
	if c.DSN != "" {
		cfg, err := mysql.ParseDSN(c.DSN)
		if err != nil {
			return nil, fmt.Errorf("DSN not understood: %w", hideDSN(err, c.DSN))
		}
		return cfg, nil
	}
	path := c.DefaultsFile
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, ErrNoServer
		}
		path = filepath.Join(home, ".my.cnf")
		if _, err := os.Stat(path); err != nil {
			return nil, ErrNoServer
		}
	}
	return readDefaults(path)
}

// hideDSN keeps a password out of an error.
func hideDSN(err error, dsn string) error {
	if strings.Contains(err.Error(), dsn) {
		return errors.New("invalid form")
	}
	return err
}

// readDefaults reads an option file of the mysql client.
func readDefaults(path string) (*mysql.Config, error) {
	f, err := ini.LoadSources(ini.LoadOptions{
		AllowBooleanKeys: true, IgnoreInlineComment: true, SkipUnrecognizableLines: true, PreserveSurroundedQuote: true,
	}, path)
	if err != nil {
		return nil, fmt.Errorf("option file: %w", err)
	}
	opt := map[string]string{}
	for _, name := range []string{"client", "mysql", "mariadb", "client-mariadb", "herdscan"} {
		s, err := f.GetSection(name)
		if err != nil {
			continue
		}
		for _, k := range s.Keys() {
			opt[strings.ReplaceAll(strings.ToLower(k.Name()), "_", "-")] = optionValue(k.String())
		}
	}
	return fromOptions(opt)
}

// optionValue takes quotes, or a comment that follows, off a value.
func optionValue(v string) string {
	v = strings.TrimSpace(v)
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') {
		if end := strings.IndexByte(v[1:], v[0]); end >= 0 {
			return strings.NewReplacer(`\\`, `\`, `\s`, " ", `\t`, "\t").Replace(v[1 : end+1])
		}
	}
	for i := 1; i < len(v); i++ {
		if v[i] == '#' && (v[i-1] == ' ' || v[i-1] == '\t') {
			v = v[:i]
			break
		}
	}
	return strings.TrimSpace(v)
}

// fromOptions turns client options into the driver's configuration.
func fromOptions(opt map[string]string) (*mysql.Config, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd = opt["user"], opt["password"]
	if cfg.User == "" {
		cfg.User = os.Getenv("USER")
	}
	host, socket := opt["host"], opt["socket"]
	switch {
	case host != "" && host != "localhost" || opt["protocol"] == "tcp":
		port := opt["port"]
		if port == "" {
			port = "3306"
		}
		if host == "" {
			host = "127.0.0.1"
		}
		cfg.Net, cfg.Addr = "tcp", host+":"+port
	default:
		if socket == "" {
			socket = "/run/mysqld/mysqld.sock"
		}
		cfg.Net, cfg.Addr = "unix", socket
	}
	switch mode := strings.ToUpper(opt["ssl-mode"]); mode {
	case "", "PREFERRED":
		if cfg.Net == "tcp" {
			cfg.TLSConfig = "preferred"
		}
	case "DISABLED":
	case "REQUIRED":
		cfg.TLSConfig = "skip-verify"
	case "VERIFY_CA", "VERIFY_IDENTITY":
		cfg.TLSConfig = "true"
	default:
		return nil, fmt.Errorf("option file: ssl-mode %q is not known", mode)
	}
	return cfg, nil
}
