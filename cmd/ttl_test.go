package cmd

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan/redistest"
)

const secret = "s3cr3t-pa55"

// fillHerd writes n keys of one pattern with one TTL, and as many spread ones.
func fillHerd(t *testing.T, s *redistest.Server, n int) {
	t.Helper()
	now := time.Now().UnixMilli() // absolute times: a slow machine must not widen the tooth
	at := func(left int) string { return strconv.FormatInt(now+int64(left), 10) }
	s.Pipe(t, func(do func(args ...string)) {
		for i := range n {
			do("SET", fmt.Sprintf("product:%d:view", i), "x", "PXAT", at(3_000_000+i%900))
			do("SET", fmt.Sprintf("user:%d:profile", i), "x", "PXAT", at(60_000+i*3_500_000/n))
		}
	})
}

func TestTTLFindsHerd(t *testing.T) {
	s := redistest.Start(t)
	fillHerd(t, s, 2000)
	got := runner{}.run("ttl", "redis://"+s.Addr, "--lang", "python")
	got.want(t, exitFindings, "4,000 of 4,000 keys read", "product:*:view expires as a herd [HS401]", "r.set(key, value, ex=random.randint(", "1 warning")
	got.never(t, "user:*:profile expires")

	d := runner{}.run("ttl", "redis://"+s.Addr, "--format", "json").document(t)
	if len(d.Findings) == 0 || d.Findings[0].Herd == nil {
		t.Fatalf("no herd in %+v", d.Findings)
	}
	f := d.Findings[0]
	if f.Rule != "HS401" || f.Count != 2000 || f.Herd.BusiestSec != 2000 {
		t.Errorf("rule %s, %d keys, busiest second %d; want HS401, 2000, 2000", f.Rule, f.Count, f.Herd.BusiestSec)
	}
	if f.Fix == nil || f.Fix.Effect == nil || f.Fix.Effect.PeakAfter > 100 {
		t.Errorf("fix %+v, want a predicted peak far below 2000", f.Fix)
	}
}

// Summaries of two servers, saved and put together, are the report of both.
func TestTTLSaveAndMerge(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i := range 2 {
		s := redistest.Start(t)
		fillHerd(t, s, 500)
		file := filepath.Join(dir, fmt.Sprintf("cache-%d.hs", i))
		runner{}.run("ttl", "redis://"+s.Addr, "--save", file).want(t, exitFindings)
		files = append(files, file)
	}
	runner{}.run("ttl", files[0], files[1]).want(t, exitFindings, "1,000 of its 1,000 keys", "product:*:view expires as a herd")
	both := filepath.Join(dir, "both.hs")
	runner{}.run("ttl", files[0], files[1], "--save", both).want(t, exitFindings)
	runner{}.run("ttl", both).want(t, exitFindings, "1,000 of its 1,000 keys")
}

func TestTTLSmallAndEmpty(t *testing.T) {
	s := redistest.Start(t)
	got := runner{}.run("ttl", "redis://"+s.Addr)
	got.want(t, exitClean, "0 keys", "nothing to judge")
	got.never(t, "no herd")
	for i := range 12 {
		s.Do(t, "SET", fmt.Sprintf("cart:%d", i), "x", "EX", "300")
	}
	got = runner{}.run("ttl", "redis://"+s.Addr)
	got.want(t, exitClean, "too few to judge (12 of 20)")
	got.never(t, "no herd")
}

// Hostile key names are shown escaped in every format.
func TestTTLHostileKeys(t *testing.T) {
	s := redistest.Start(t)
	s.Pipe(t, func(do func(args ...string)) {
		for i := range 200 {
			do("SET", fmt.Sprintf("a\n\x1b[31m|<b>\xff\u202e:%d", i), "x", "EX", "300")
		}
		do("SET", "lock:\x1b[31m\xff\u202e", "x")
	})
	for _, format := range []string{"text", "json", "markdown", "html"} {
		got := runner{}.run("ttl", "redis://"+s.Addr, "--format", format)
		got.want(t, exitFindings, `x1b`)
		got.never(t, "\x1b", "\xff", "\u202e")
		if format == "markdown" {
			got.want(t, exitFindings, `&lt;b&gt;`)
		}
	}
}

func TestTTLBadServers(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	open := redistest.Start(t)
	locked := redistest.Start(t, "--requirepass", "right")

	for _, c := range []struct {
		name, url string
		args      []string
		env       map[string]string
		texts     []string
	}{
		{"wrong port", "redis://" + closed, nil, nil, []string{closed, "refused", "nothing was read, so this is no all-clear"}},
		{"standard input twice", "-", []string{"-"}, nil, []string{"only once"}},
		{"no password", "redis://" + locked.Addr, nil, nil, []string{locked.Addr, "password"}},
		{"wrong password", "", nil, map[string]string{"REDIS_URL": "redis://:" + secret + "@" + locked.Addr}, []string{locked.Addr, "password"}},
		{"wrong password by REDISCLI_AUTH", "redis://" + locked.Addr, nil, map[string]string{"REDISCLI_AUTH": secret}, []string{locked.Addr, "password"}},
		{"TLS to a plain port", "rediss://" + open.Addr, []string{"--timeout", "1s"}, nil, []string{open.Addr, "TLS"}},
		{"an HTTP server", "redis://" + web.Listener.Addr().String(), nil, nil, []string{"not a Redis server"}},
		{"a server that says nothing", "redis://" + silent.Addr().String(), []string{"--timeout", "200ms"}, nil, []string{silent.Addr().String()}},
		{"a secret on the command line", "redis://:" + secret + "@" + open.Addr, nil, nil, []string{"REDIS_URL", "--url-file", "REDISCLI_AUTH"}},
		{"a typo in the scheme", "reddis://:" + secret + "@" + open.Addr, nil, nil, []string{"REDIS_URL"}},
		{"a typo in REDIS_URL", "", nil, map[string]string{"REDIS_URL": "redis://:" + secret + "@" + open.Addr + ":zz/x"}, nil},
		{"a password with a percent sign", "", nil, map[string]string{"REDIS_URL": "redis://u:" + secret + "%zz@" + open.Addr}, nil},
		{"another scheme", "http://" + open.Addr, nil, nil, []string{"there are redis://"}},
		{"a user without a password", "redis://" + open.Addr, []string{"--user", "bob"}, nil, []string{"REDISCLI_AUTH"}},
		{"a missing file", "no-such-file.hs", nil, nil, []string{"no-such-file.hs"}},
		{"a missing --url-file", "", []string{"--url-file", "no-such-file"}, nil, []string{"no-such-file"}},
		{"a bad regexp", "redis://" + open.Addr, []string{"--group", "("}, nil, []string{"--group"}},
		{"a bad kind", "redis://" + open.Addr, []string{"--kind", "mutex=x"}, nil, []string{"--kind"}},
		{"a bad language", "redis://" + open.Addr, []string{"--lang", "cobol"}, nil, []string{"--lang cobol"}},
		{"a bad duty", "redis://" + open.Addr, []string{"--duty", "7"}, nil, []string{"duty"}},
		{"a duty that is no number", "redis://" + open.Addr, []string{"--duty", "NaN"}, nil, []string{"duty"}},
		{"a target that is no number", "redis://" + open.Addr, []string{"--target", "NaN"}, nil, []string{"--target"}},
		{"a pause that is over already", "redis://" + open.Addr, []string{"--second-look", "-1s"}, nil, []string{"--second-look"}},
		{"no time to answer", "redis://" + open.Addr, []string{"--timeout", "0s"}, nil, []string{"--timeout"}},
		{"an address without a scheme", open.Addr, nil, nil, []string{"redis://" + open.Addr}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"ttl"}
			if c.url != "" {
				args = append(args, c.url)
			}
			got := runner{env: c.env}.run(append(args, c.args...)...)
			got.want(t, exitError, c.texts...)
			got.never(t, secret)
			if strings.Contains(got.stdout, "no herd") {
				t.Errorf("an unread source is no all-clear:\n%s", got.stdout)
			}
		})
	}
}

// A user who may not do everything gets what he may see, and is told the rest.
func TestTTLForbidden(t *testing.T) {
	s := redistest.Start(t)
	fillHerd(t, s, 300)
	s.Do(t, "ACL", "SETUSER", "keys", "on", ">pw", "%R~product:*", "+ping", "+hello", "+info", "+dbsize", "+select", "+scan", "+pexpiretime", "+pttl", "+time")
	s.Do(t, "ACL", "SETUSER", "noinfo", "on", ">pw", "~*", "+ping", "+hello", "+dbsize", "+select", "+scan", "+pexpiretime", "+pttl", "+time")
	s.Do(t, "ACL", "SETUSER", "noscan", "on", ">pw", "~*", "+@all", "-scan")

	env := map[string]string{"REDISCLI_AUTH": "pw"}
	runner{env: env}.run("ttl", "redis://"+s.Addr, "--user", "keys").
		want(t, exitError, "300 whose expiry the server does not tell", "product:*:view expires as a herd")
	runner{env: env}.run("ttl", "redis://"+s.Addr, "--user", "noinfo").
		want(t, exitFindings, "product:*:view expires as a herd", "info")
	got := runner{env: env}.run("ttl", "redis://"+s.Addr, "--user", "noscan")
	got.want(t, exitError, "scan")
	got.never(t, "no herd")
}

func TestTTLRenamedScan(t *testing.T) {
	s := redistest.Start(t, "--rename-command", "SCAN", "SCAN-0815")
	fillHerd(t, s, 20)
	runner{}.run("ttl", "redis://"+s.Addr).want(t, exitError, "scan")
}

// A server that dies in mid-scan, and Ctrl-C: what was read is reported as
// partial, with the exit code of its cause.
func TestTTLCutShort(t *testing.T) {
	for _, c := range []struct {
		name string
		code int
		cut  func(s *redistest.Server, cancel func())
	}{
		{"killed", exitError, func(s *redistest.Server, _ func()) { s.Kill() }},
		{"interrupted", exitInterrupted, func(_ *redistest.Server, cancel func()) { cancel() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := redistest.Start(t)
			fillHerd(t, s, 5000)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// At 2,000 keys a second the scan takes five seconds; the cut
			// comes when the server has been asked for its first pages.
			done := make(chan result)
			go func() { done <- runner{ctx: ctx}.run("ttl", "redis://"+s.Addr, "--rate", "2000") }()
			err := redistest.Eventually(func() error {
				if !strings.Contains(s.Do(t, "INFO", "commandstats"), "cmdstat_scan:") {
					return fmt.Errorf("no SCAN yet")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			c.cut(s, cancel)
			got := <-done
			got.want(t, c.code, "partial")
			got.never(t, "no herd found in")
		})
	}
}

func TestTTLExplainAccess(t *testing.T) {
	runner{}.run("ttl", "--explain-access").want(t, exitClean, "ACL SETUSER herdscan", "+scan", "SCAN")
}

// -o writes further formats; a failed run leaves no half file.
func TestTTLOutputFiles(t *testing.T) {
	s := redistest.Start(t)
	fillHerd(t, s, 200)
	dir := t.TempDir()
	md, js := filepath.Join(dir, "r.md"), filepath.Join(dir, "r.json")
	runner{}.run("ttl", "redis://"+s.Addr, "-o", md, "-o", js).want(t, exitFindings)
	for _, path := range []string{md, js} {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "HS401") {
			t.Errorf("%s: %v, %d bytes", path, err, len(text))
		}
	}
	got := runner{}.run("ttl", "redis://"+s.Addr, "-o", filepath.Join(dir, "none", "r.md"))
	got.want(t, exitError, filepath.Join(dir, "none", "r.md")+": no such file or directory")
	got.never(t, ".tmp")
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Keys that come and go during the scan change neither verdict nor exit code.
func TestTTLChurn(t *testing.T) {
	s := redistest.Start(t)
	fillHerd(t, s, 5000)
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				s.Pipe(t, func(do func(args ...string)) {
					for j := range 50 {
						do("SET", fmt.Sprintf("churn:%d", i*50+j), "x", "PX", strconv.Itoa(5000+(i*7919+j*104729)%600_000))
						do("DEL", fmt.Sprintf("churn:%d", (i-20)*50+j))
					}
				})
			}
		}
	}()
	got := runner{}.run("ttl", "redis://"+s.Addr, "--rate", "20000")
	close(stop)
	<-stopped
	got.want(t, exitFindings, "product:*:view expires as a herd", "5,000 of its 5,000 keys")
	got.never(t, "churn:* expires as a herd", "user:*:profile expires as a herd")
}

// A second look tells the TTL of keys that are rewritten meanwhile.
func TestTTLSecondLook(t *testing.T) {
	s := redistest.Start(t)
	write := func() {
		s.Pipe(t, func(do func(args ...string)) {
			for i := range 100 {
				do("SET", fmt.Sprintf("quote:%d", i), "x", "EX", "600")
			}
		})
	}
	write()
	s.Pipe(t, func(do func(args ...string)) {
		for i := range 100 {
			do("PEXPIRE", fmt.Sprintf("quote:%d", i), "400000")
		}
	})
	go func() {
		_ = redistest.Eventually(func() error {
			if !strings.Contains(s.Do(t, "INFO", "commandstats"), "cmdstat_object") {
				return fmt.Errorf("no first look yet")
			}
			return nil
		})
		write()
	}()
	runner{}.run("ttl", "redis://"+s.Addr, "--second-look", (2*time.Second).String()).
		want(t, exitFindings, "a TTL of 600 s")
}

// The same server in two summaries is counted twice, so the report says so.
func TestTTLReadTwice(t *testing.T) {
	s := redistest.Start(t)
	fillHerd(t, s, 200)
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.hs"), filepath.Join(dir, "b.hs")
	runner{}.run("ttl", "redis://"+s.Addr, "--save", a).never(t, "more than once")
	runner{}.run("ttl", "redis://"+s.Addr, "--save", b)
	runner{}.run("ttl", a, b).want(t, exitFindings, s.Addr, "was read more than once")
}

// A list that looks like something else is read as a list if that is asked for.
func TestTTLInputKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	var b strings.Builder
	b.WriteString("REDIS\tkey\tttl\n")
	for i := range 50 {
		fmt.Fprintf(&b, "x\tpage:%d\t3600\n", i)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	runner{}.run("ttl", file).want(t, exitError, "damaged RDB file")
	runner{}.run("ttl", file, "--input", "keys", "--now", "1800000000").want(t, exitFindings, "50 keys read", "page:* expires as a herd")
	runner{}.run("ttl", file, "--input", "rdb").want(t, exitError, "--input rdb: there are auto and keys")
}

// Hashes with fields that expire have no TTL of their own and are told apart from keys that stay.
func TestTTLHashFields(t *testing.T) {
	dump := []byte("REDIS0012\xfa\x05ctime\x0a1796068000\xfe\x00")
	for i := range 3 {
		dump = append(dump, 25, 7)
		dump = fmt.Appendf(dump, "cache:%d", i)
		dump = binary.LittleEndian.AppendUint64(dump, 1796068100_000)
		dump = append(dump, 1, 'x')
	}
	dump = append(dump, "\x00\x06stay:1\x01v\xff\x00\x00\x00\x00\x00\x00\x00\x00"...)
	path := filepath.Join(t.TempDir(), "fields.rdb")
	if err := os.WriteFile(path, dump, 0o600); err != nil {
		t.Fatal(err)
	}
	got := runner{}.run("ttl", path)
	got.want(t, exitClean, "hashes of which a field expires: 3 of 4 keys without a TTL")
	got.never(t, "[HS406]")
}
