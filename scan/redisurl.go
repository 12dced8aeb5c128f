package scan

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// A deployment is the way servers are found behind an address.
type deployment int

const (
	standalone deployment = iota
	cluster
	sentinel
)

// A target is a parsed address of one Redis deployment.
type target struct {
	deployment deployment
	network    string   // tcp or unix
	addrs      []string // host:port, or the path of a socket; several for Cluster and Sentinel
	tls        bool
	username   string
	password   string
	master     string // the name that Sentinel knows
	db         int
	hasDB      bool
}

// schemes says what each URL scheme stands for.
var schemes = map[string]target{
	"redis":           {network: "tcp"},
	"rediss":          {network: "tcp", tls: true},
	"valkey":          {network: "tcp"},
	"valkeys":         {network: "tcp", tls: true},
	"unix":            {network: "unix"},
	"redis-cluster":   {network: "tcp", deployment: cluster},
	"rediss-cluster":  {network: "tcp", deployment: cluster, tls: true},
	"redis-sentinel":  {network: "tcp", deployment: sentinel},
	"rediss-sentinel": {network: "tcp", deployment: sentinel, tls: true},
}

const (
	redisPort    = "6379"
	sentinelPort = "26379"
)

// IsRedisURL reports whether text begins with a scheme that OpenRedis understands.
func IsRedisURL(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	_, known := schemes[strings.ToLower(scheme)]
	return found && known
}

// HasSecret reports whether a URL holds a password, also when the URL is malformed: in doubt it says yes.
func HasSecret(text string) bool {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	rest, query, _ := strings.Cut(rest, "?")
	if hasSecretParameter(query) || strings.Contains(query, "@") {
		return true
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return false
	}
	if strings.EqualFold(scheme, "unix") && strings.HasPrefix(rest, "/") {
		return false
	}
	return strings.IndexByte(rest[:at], ':') >= 0
}

func hasSecretParameter(query string) bool {
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		name = strings.ToLower(name)
		if strings.Contains(name, "pass") || strings.Contains(name, "auth") || strings.Contains(name, "token") ||
			strings.Contains(name, "secret") {
			return true
		}
	}
	return false
}

// Redact returns a URL without user, password and parameters. It works on malformed URLs too: everything between the
// scheme and the last @ is dropped, and all of it where that might be in the middle of a secret.
func Redact(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	rest, query, _ := strings.Cut(rest, "?")
	if strings.Contains(query, "@") {
		rest = "..."
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	if !found {
		return rest
	}
	return scheme + "://" + rest
}

// A URLError tells what is wrong with an address, without repeating its secrets.
type URLError struct {
	URL     string // redacted
	Problem string
}

func (e *URLError) Error() string { return fmt.Sprintf("address %q: %s", e.URL, e.Problem) }

// parseTarget understands
//
//	redis://[user[:password]@]host[:port][/db]     (rediss: with TLS; valkey and valkeys are the same)
//	unix://[user[:password]@]/path/to/socket[?db=N]
//	redis-cluster://[...@]host:port[,host:port...]
//	redis-sentinel://[...@]host:port[,host:port...]/master[/db]
//
// Its errors never repeat a password.
func parseTarget(text string) (target, error) {
	t, err := splitTarget(text)
	if err != nil {
		return target{}, &URLError{URL: Redact(text), Problem: err.Error()}
	}
	return t, nil
}

func splitTarget(text string) (target, error) {
	scheme, rest, found := strings.Cut(text, "://")
	t, known := schemes[strings.ToLower(scheme)]
	if !found || !known {
		return t, errors.New("want redis://host:port/db, rediss://, unix:///path, redis-cluster:// or redis-sentinel://")
	}
	rest, query, _ := strings.Cut(rest, "?")
	if strings.Contains(query, "@") {
		return t, errors.New("write a ? in the user or the password as %3F, and an @ in a parameter as %40")
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := t.setUser(rest[:at]); err != nil {
			return t, err
		}
		rest = rest[at+1:]
	}
	if t.network == "unix" {
		return t, t.setSocket(rest, query)
	}
	hosts, path, _ := strings.Cut(rest, "/")
	if err := t.setHosts(hosts); err != nil {
		return t, err
	}
	if err := t.setPath(strings.Trim(path, "/")); err != nil {
		return t, err
	}
	return t, t.setQuery(query)
}

func (t *target) setUser(userinfo string) error {
	user, password, _ := strings.Cut(userinfo, ":")
	var err1, err2 error
	t.username, err1 = url.PathUnescape(user)
	t.password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errors.New("the user or the password holds a % that is not a valid escape (write %25 for a plain %)")
	}
	return nil
}

func (t *target) setSocket(path, query string) error {
	if path == "" {
		return errors.New("the path of the socket is missing")
	}
	t.addrs = []string{path}
	return t.setQuery(query)
}

func (t *target) setHosts(hosts string) error {
	port := redisPort
	if t.deployment == sentinel {
		port = sentinelPort
	}
	for host := range strings.SplitSeq(hosts, ",") {
		addr, err := hostPort(host, port)
		if err != nil {
			return err
		}
		t.addrs = append(t.addrs, addr)
	}
	if t.deployment == standalone && len(t.addrs) > 1 {
		return errors.New("more than one host: use redis-cluster:// or redis-sentinel://")
	}
	return nil
}

func hostPort(text, port string) (string, error) {
	host := strings.Trim(text, "[]")
	if !strings.HasSuffix(text, "]") && strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", errors.New("the host and port cannot be told apart (IPv6 needs brackets)")
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("the port is no number between 1 and 65535 (is there an unescaped / or @ in the password?)")
	}
	if host == "" {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}

func (t *target) setPath(path string) error {
	if t.deployment == sentinel {
		t.master, path, _ = strings.Cut(path, "/")
		if t.master == "" {
			return errors.New("the name of the master is missing: redis-sentinel://host:port/NAME")
		}
	}
	if path == "" {
		return nil
	}
	return t.setDB(path)
}

func (t *target) setDB(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("the database after the / is no number")
	}
	if t.deployment == cluster && n != 0 {
		return errors.New("a cluster has only database 0")
	}
	t.db, t.hasDB = int(n), true
	return nil
}

func (t *target) setQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the parameters after the ? cannot be read")
	}
	for name := range values {
		switch name {
		case "db":
			if err := t.setDB(values.Get(name)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("parameter %q is not known (known: db)", name)
		}
	}
	return nil
}

// String is the address without user and password.
func (t *target) String() string {
	scheme := "redis"
	if t.tls {
		scheme = "rediss"
	}
	switch {
	case t.network == "unix":
		scheme = "unix"
	case t.deployment == cluster:
		scheme += "-cluster"
	case t.deployment == sentinel:
		scheme += "-sentinel"
	}
	text := scheme + "://" + strings.Join(t.addrs, ",")
	if t.master != "" {
		text += "/" + t.master
	}
	if !t.hasDB {
		return text
	}
	if t.network == "unix" {
		return text + "?db=" + strconv.Itoa(t.db)
	}
	return text + "/" + strconv.Itoa(t.db)
}
