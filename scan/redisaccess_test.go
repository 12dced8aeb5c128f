package scan_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
	"github.com/herdscan/herdscan/scan/scantest"
)

const secret = "s3cr%25et" // as in a URL

func checkProblem(t *testing.T, err error, want scan.Problem, addr string) {
	t.Helper()
	var e *scan.ServerError
	if !errors.As(err, &e) {
		t.Fatalf("error is %v (%T), want a *scan.ServerError", err, err)
	}
	if e.Problem != want {
		t.Errorf("problem is %d (%v), want %d", e.Problem, err, want)
	}
	if !strings.Contains(err.Error(), addr) {
		t.Errorf("error %q does not name %s", err, addr)
	}
	for _, s := range []string{secret, "s3cr%et"} {
		if strings.Contains(err.Error(), s) {
			t.Errorf("error %q holds the password", err)
		}
	}
}

func TestRedisWrongPort(t *testing.T) {
	t.Parallel()
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(redistest.FreePort(t)))
	for _, scheme := range []string{"redis", "rediss"} {
		_, err := scan.OpenRedis(t.Context(), scan.Options{URL: scheme + "://:" + secret + "@" + addr})
		checkProblem(t, err, scan.ProblemRefused, addr)
	}
}

func TestRedisPasswords(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Do(t, "ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all")
	s.Do(t, "CONFIG", "SET", "requirepass", "s3cr%et")
	for url, problem := range map[string]scan.Problem{
		"redis://" + s.Addr:                               scan.ProblemNeedsPassword,
		"redis://:wrong@" + s.Addr:                        scan.ProblemPassword,
		"redis://nobody:" + secret + "@" + s.Addr:         scan.ProblemPassword,
		"redis://:" + secret + "@" + s.Addr:               -1,
		"redis://default:" + secret + "@" + s.Addr + "/2": -1,
		"redis://reader:pw@" + s.Addr:                     -1,
	} {
		r, err := scan.OpenRedis(t.Context(), scan.Options{URL: url})
		if problem >= 0 {
			checkProblem(t, err, problem, s.Addr)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		scantest.TestSource(t, r, nil, scantest.Secret("s3cr"), scantest.Secret("pw"))
	}
	r := open(t, scan.Options{URL: "redis://" + s.Addr, Password: "s3cr%et"})
	scantest.TestSource(t, r, nil, scantest.Secret("s3cr"))
}

func TestRedisMalformedAddressesKeepSecrets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://user:s3cret@host:port/0", "redis://user:s3cret@host:6379/zero", "reddis://user:s3cret@host",
		"redis://user:s3cret%zz@host", "redis://:s3c?ret@host:6379", "redis://:s3c@ret@host:99999",
		"redis://user:s3cret@a,b", "redis-sentinel://:s3cret@host", "unix://u:s3cret@", "redis://:s3cret@host?x=s3cret",
		"redis://:s3cret@ho st:6379:1", "redis-cluster://:s3cret@host/3", "redis://host/?password=s3cret",
	} {
		_, err := scan.OpenRedis(t.Context(), scan.Options{URL: url})
		var e *scan.URLError
		if !errors.As(err, &e) {
			t.Errorf("%s: error is %v, want a *scan.URLError", url, err)
			continue
		}
		if strings.Contains(err.Error(), "s3c") {
			t.Errorf("error %q holds a secret", err)
		}
		if !scan.HasSecret(url) {
			t.Errorf("HasSecret(%q) is false", url)
		}
	}
}

func TestRedisTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeCertificates(t, dir)
	file := func(name string) string { return filepath.Join(dir, name) }
	port := redistest.FreePort(t)
	s := redistest.Start(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", file("cert"), "--tls-key-file", file("key"),
		"--tls-ca-cert-file", file("ca"), "--tls-auth-clients", "optional")
	want := fill(t, s, 0, 12)
	tlsAddr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	mutualPort := redistest.FreePort(t)
	redistest.Start(t, "--tls-port", strconv.Itoa(mutualPort), "--tls-cert-file", file("cert"), "--tls-key-file", file("key"),
		"--tls-ca-cert-file", file("ca"), "--tls-auth-clients", "yes")
	mutual := net.JoinHostPort("127.0.0.1", strconv.Itoa(mutualPort))
	good := []scan.TLSOptions{
		{CA: file("ca")},
		{Insecure: true},
		{CA: file("ca"), Cert: file("cert"), Key: file("key")},
		{CA: file("ca"), ServerName: "localhost"},
	}
	for _, o := range good {
		scantest.TestSource(t, open(t, scan.Options{URL: "rediss://" + tlsAddr, TLS: o}), want)
	}
	for name, c := range map[string]struct {
		url     string
		tls     scan.TLSOptions
		problem scan.Problem
	}{
		"unknown CA":   {"rediss://" + tlsAddr, scan.TLSOptions{}, scan.ProblemCertificate},
		"wrong name":   {"rediss://" + tlsAddr, scan.TLSOptions{CA: file("ca"), ServerName: "else"}, scan.ProblemCertificate},
		"TLS to plain": {"rediss://" + s.Addr, scan.TLSOptions{Insecure: true}, scan.ProblemNoTLS},
		"no client":    {"rediss://" + mutual, scan.TLSOptions{CA: file("ca")}, scan.ProblemCertificate},
		"plain to TLS": {"redis://" + tlsAddr, scan.TLSOptions{}, scan.ProblemNeedsTLS},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := scan.OpenRedis(t.Context(), scan.Options{URL: c.url, TLS: c.tls, ConnectTimeout: 500 * time.Millisecond})
			checkProblem(t, err, c.problem, strings.TrimPrefix(strings.TrimPrefix(c.url, "redis://"), "rediss://"))
		})
	}
	for name, o := range map[string]scan.Options{
		"no CA file":     {URL: "rediss://" + tlsAddr, TLS: scan.TLSOptions{CA: file("none")}},
		"CA is no PEM":   {URL: "rediss://" + tlsAddr, TLS: scan.TLSOptions{CA: os.Args[0]}},
		"no key":         {URL: "rediss://" + tlsAddr, TLS: scan.TLSOptions{Cert: file("cert")}},
		"TLS for redis:": {URL: "redis://" + s.Addr, TLS: scan.TLSOptions{CA: file("ca")}},
	} {
		_, err := scan.OpenRedis(t.Context(), o)
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		if about := new(fs.PathError); errors.As(err, &about) {
			t.Errorf("%s: %v is taken for an error about the source", name, err)
		}
	}
}

// writeCertificates makes a CA ("ca") and a certificate signed by it ("cert", "key") for 127.0.0.1 and localhost.
func writeCertificates(t *testing.T, dir string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey := newKey(t)
	ca := sign(t, template, template, caKey, caKey)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test server"},
		NotBefore: template.NotBefore, NotAfter: template.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key := newKey(t)
	cert := sign(t, leaf, template, key, caKey)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca": {Type: "CERTIFICATE", Bytes: ca}, "cert": {Type: "CERTIFICATE", Bytes: cert},
		"key": {Type: "EC PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestRedisTurnsAway(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--maxclients", "1")
	held, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := held.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := held.Read(make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	_, err = scan.OpenRedis(t.Context(), scan.Options{URL: "redis://" + s.Addr})
	checkProblem(t, err, scan.ProblemRejected, s.Addr)
	if !strings.Contains(err.Error(), "max number of clients") {
		t.Errorf("error is %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []scan.Options{
		{Duty: 2}, {Duty: -1}, {Sample: 1.5}, {Sample: -0.1}, {Rate: -1}, {PageKeys: -1}, {Servers: -1}, {Chains: 3}, {Chains: 16},
	} {
		o.URL = "redis://127.0.0.1:1"
		_, err := scan.OpenRedis(t.Context(), o)
		var dialed *scan.ServerError
		if err == nil || errors.As(err, &dialed) {
			t.Errorf("%+v: error is %v", o, err)
		}
	}
}

func TestRedisOnOtherServers(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	addr := web.Listener.Addr().String()
	_, err := scan.OpenRedis(t.Context(), scan.Options{URL: "redis://" + addr})
	checkProblem(t, err, scan.ProblemNotRedis, addr)
	_, err = scan.OpenRedis(t.Context(), scan.Options{URL: "rediss://" + addr})
	checkProblem(t, err, scan.ProblemNoTLS, addr)
}

// TestRedisMinimalACL reads, inspects and rereads as a user who may do what ACLRules permits and nothing else.
func TestRedisMinimalACL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	want := append(fill(t, s, 0, 300), fill(t, s, 1, 300)...)
	s.Do(t, append([]string{"ACL", "SETUSER", "herdscan", ">pw"}, scan.ACLRules()...)...)
	for _, pttl := range []bool{false, true} {
		r := open(t, scan.Options{URL: "redis://herdscan:pw@" + s.Addr, PTTL: pttl})
		scantest.TestSource(t, r, want, scantest.Tolerance(2*time.Millisecond))
		refs := []scan.KeyRef{want[0].Ref()}
		if d, err := r.Inspect(t.Context(), refs); err != nil || d[0].Type != "string" || !d[0].HasIdle {
			t.Errorf("Inspect: %+v, %v", d, err)
		}
		if _, err := r.Reread(t.Context(), refs); err != nil {
			t.Errorf("Reread: %v", err)
		}
		info, err := r.Info(t.Context())
		if err != nil || len(info.Missing) > 0 {
			t.Errorf("Info: missing %q, %v", info.Missing, err)
		}
	}
	if log := s.CLI(t, "ACL", "LOG"); strings.TrimSpace(log) != "" {
		t.Errorf("the server refused something:\n%s", log)
	}
	text := scan.ExplainAccess()
	for _, rule := range scan.ACLRules() {
		if !strings.Contains(text, rule) {
			t.Errorf("ExplainAccess does not name %s", rule)
		}
	}
}

// TestRedisForbidden takes one permission away at a time.
func TestRedisForbidden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		forbid string
		fatal  string // the command that the scan cannot do without
		note   string // or what the coverage or the info says instead
	}{
		{forbid: "scan", fatal: "SCAN"},
		{forbid: "pexpiretime", note: "exact to 1 ms"},
		{forbid: "pexpiretime -time", note: "this machine's clock"},
		{forbid: "pexpiretime -pttl", fatal: "PTTL"},
		{forbid: "info", note: "INFO"},
		{forbid: "info -time", note: "this machine's is used"},
		{forbid: "dbsize", note: "number of keys is unknown"},
		{forbid: "ping"},
		{forbid: "info -dbsize -select", note: "INFO"},
	} {
		t.Run(c.forbid, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			want := fill(t, s, 0, 300)
			s.Do(t, append([]string{"ACL", "SETUSER", "u", ">pw", "on", "~*", "+@all"}, strings.Fields("-"+c.forbid)...)...)
			r, err := scan.OpenRedis(t.Context(), scan.Options{URL: "redis://u:pw@" + s.Addr})
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(t, r)
			checkForbidden(t, s, err, c.fatal)
			if c.fatal != "" {
				return
			}
			if len(got) != len(want) {
				t.Errorf("%d keys, want %d", len(got), len(want))
			}
			info, err := r.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if text := fmt.Sprint(r.Coverage(), info.Missing); !strings.Contains(text, c.note) {
				t.Errorf("%s does not say %q", text, c.note)
			}
			if off := time.Since(info.Now).Abs(); off > time.Minute {
				t.Errorf("the server's clock is %v off", off)
			}
		})
	}
}

func checkForbidden(t *testing.T, s *redistest.Server, err error, command string) {
	t.Helper()
	if command == "" {
		if err != nil {
			t.Errorf("error %v", err)
		}
		return
	}
	var missing *scan.CommandError
	if !errors.As(err, &missing) || missing.Command != command || !strings.Contains(err.Error(), s.Addr) {
		t.Errorf("error is %v, want one about %s at %s", err, command, s.Addr)
	}
}

func TestRedisForbiddenKeys(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s, 0, 300)
	s.Pipe(t, func(do func(...string)) {
		for i := range 100 {
			do("SET", fmt.Sprint("hidden:", i), "v")
		}
	})
	s.Do(t, "ACL", "SETUSER", "u", ">pw", "on", "~key:*", "+@all")
	for _, pttl := range []bool{false, true} {
		r := open(t, scan.Options{URL: "redis://u:pw@" + s.Addr, PTTL: pttl})
		got, err := read(t, r)
		if err != nil || len(got) != 300 {
			t.Errorf("%d keys, %v, want 300", len(got), err)
		}
		c := r.Coverage()[0]
		if c.Denied != 100 || !strings.Contains(fmt.Sprint(c.Notes), "100 keys was refused") {
			t.Errorf("coverage is %+v", c)
		}
	}
}

func TestRedisRenamedCommands(t *testing.T) {
	t.Parallel()
	for command, fatal := range map[string]string{
		"SCAN": "SCAN", "PEXPIRETIME": "", "TIME": "", "INFO": "", "DBSIZE": "", "PING": "", "HELLO": "", "PTTL": "",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, "--rename-command", command, "HIDDEN")
			want := fill(t, s, 0, 300)
			r, err := scan.OpenRedis(t.Context(), scan.Options{URL: "redis://" + s.Addr})
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(t, r)
			checkForbidden(t, s, err, fatal)
			if fatal == "" && len(got) != len(want) {
				t.Errorf("%d keys, want %d", len(got), len(want))
			}
		})
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct {
		redacted string
		secret   bool
	}{
		"redis://host":               {"redis://host", false},
		"redis://host:6379/3":        {"redis://host:6379/3", false},
		"redis://user@host":          {"redis://host", false},
		"redis://:pw@host/1":         {"redis://host/1", true},
		"redis://u:p@w:x@host":       {"redis://host", true},
		"redis://host?password=x":    {"redis://host", true},
		"redis://:a/b@host":          {"redis://host", true},
		"redis://:a?b@host":          {"redis://...", true},
		"redis://host?password=a@b":  {"redis://...", true},
		"unix:///run/redis.sock":     {"unix:///run/redis.sock", false},
		"unix://:pw@/run/redis.sock": {"unix:///run/redis.sock", true},
		"u:pw@host:6379":             {"host:6379", true},
		"host:6379":                  {"host:6379", false},
	} {
		if got := scan.Redact(url); got != want.redacted {
			t.Errorf("Redact(%q) is %q, want %q", url, got, want.redacted)
		}
		if got := scan.HasSecret(url); got != want.secret {
			t.Errorf("HasSecret(%q) is %v", url, got)
		}
	}
}
