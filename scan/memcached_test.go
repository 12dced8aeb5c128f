package scan_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/scantest"
)

// startMemcached starts a server on a free port with further arguments and returns its address.
func startMemcached(t testing.TB, args ...string) string {
	t.Helper()
	bin, err := exec.LookPath("memcached")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("memcached is not installed")
		}
		t.Skip("memcached is not installed")
	}
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	args = append([]string{"-l", "127.0.0.1", "-p", port, "-U", "0", "-u", "nobody"}, args...)
	cmd := exec.Command(bin, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 200 {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return addr
		}
		time.Sleep(20 * time.Millisecond) // until it listens
	}
	t.Fatal("memcached does not start")
	return ""
}

// freeAddr returns an address at which nothing listens.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ask sends commands in one write and reads so many lines.
func ask(t testing.TB, addr, commands string, lines int) []string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	go io.WriteString(conn, commands)
	r := bufio.NewReader(conn)
	var got []string
	for range lines {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimRight(line, "\r\n"))
	}
	return got
}

func openMemcached(t testing.TB, addr string, o scan.MemcachedOptions) *scan.Memcached {
	t.Helper()
	o.URL = "memcached://" + addr
	m, err := scan.OpenMemcached(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func drainMemcached(t testing.TB, m *scan.Memcached) ([]scan.Key, scan.Coverage, error) {
	t.Helper()
	var got []scan.Key
	err := m.Keys(t.Context(), func(k *scan.Key) error {
		got = append(got, k.Clone())
		return nil
	})
	return got, m.Coverage()[0], err
}

func TestMemcached(t *testing.T) {
	addr := startMemcached(t)
	m := openMemcached(t, addr, scan.MemcachedOptions{})
	if got, c, err := drainMemcached(t, m); err != nil || len(got) != 0 || !c.Complete {
		t.Errorf("empty server: %d keys, error %v, coverage %+v", len(got), err, c)
	}
	ask(t, addr, "set a:1%x 0 100 1\r\nx\r\nset b\x01\xff 0 0 1\r\nx\r\nset c 0 3000 1\r\nx\r\nget c\r\nset gone 0 -1 1\r\nx\r\n", 7)
	now := time.Now().UnixMilli()
	want := []scan.Key{
		{Name: []byte("a:1%x"), ExpireMS: now + 100_000, TTL: 100 * time.Second},
		{Name: []byte("b\x01\xff"), ExpireMS: scan.NoExpiry},
		{Name: []byte("c"), ExpireMS: now + 3_000_000},
	}
	scantest.TestSource(t, openMemcached(t, addr, scan.MemcachedOptions{}), want, scantest.Tolerance(5*time.Second))
	m = openMemcached(t, addr, scan.MemcachedOptions{})
	if size, err := m.Size(t.Context()); err != nil || size < 3 || size > 4 {
		t.Errorf("Size = %d, %v", size, err)
	}
	info := m.Info()
	if info.Kind != "memcached" || !strings.HasPrefix(info.Version, "1.") || info.Hits != 1 || info.MaxMemory == 0 || len(info.Missing) != 0 {
		t.Errorf("info = %+v", info)
	}
	if at, ok := m.Now(); !ok || at.UnixMilli() < now-5000 || at.UnixMilli() > now+60_000 {
		t.Errorf("Now = %v, %v", at, ok)
	}
}

// TestMemcachedMany reads more items than fit into one buffer, while a setting of the server stays as it was.
func TestMemcachedMany(t *testing.T) {
	addr := startMemcached(t)
	const n = 20_000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "set session:%d 0 %d 1\r\nx\r\n", i, 1000+i%100)
	}
	ask(t, addr, b.String(), n)
	before := ask(t, addr, "stats settings\r\n", 60)
	var progress atomic.Uint64
	m := openMemcached(t, addr, scan.MemcachedOptions{Progress: func(read, total uint64) {
		if total == n {
			progress.Store(read)
		}
	}})
	got, c, err := drainMemcached(t, m)
	if err != nil || len(got) != n || c.Read != n || c.Total != n || !c.Complete || c.Skipped != 0 {
		t.Errorf("%d keys, error %v, coverage %+v", len(got), err, c)
	}
	ttls := map[time.Duration]int{}
	for _, k := range got {
		ttls[k.TTL]++
	}
	if len(ttls) != 100 || ttls[1000*time.Second] != n/100 {
		t.Errorf("%d different original TTLs, %d of 1000 s", len(ttls), ttls[1000*time.Second])
	}
	if progress.Load() == 0 {
		t.Error("no progress was reported")
	}
	if diff := cmp.Diff(before, ask(t, addr, "stats settings\r\n", 60)); diff != "" {
		t.Errorf("the server's settings changed: %s", diff)
	}
}

func TestMemcachedRefuses(t *testing.T) {
	off := startMemcached(t, "-o", "no_lru_crawler")
	noDump := startMemcached(t, "-X")
	for addr, want := range map[string]string{off: "its LRU crawler is off", noDump: "forbids dumps"} {
		ask(t, addr, "set a 0 0 1\r\nx\r\n", 1)
		m := openMemcached(t, addr, scan.MemcachedOptions{})
		if missing := m.Info().Missing; len(missing) != 1 || !strings.Contains(missing[0], want) {
			t.Errorf("missing = %q, want %q", missing, want)
		}
		_, c, err := drainMemcached(t, m)
		if err == nil || !strings.Contains(err.Error(), want) || c.Complete || len(c.Errors) != 1 {
			t.Errorf("error %v, coverage %+v", err, c)
		}
	}
}

// A fakeMemcached answers each command of a connection with the next of its answers for it; the last one is kept.
// "CLOSE" at the end of an answer closes the connection; an answer of "RESET" resets it, as a killed server does.
type fakeMemcached map[string][]string

func (f fakeMemcached) start(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return l.Addr().String()
}

func (f fakeMemcached) serve(conn net.Conn) {
	defer conn.Close()
	asked := map[string]int{}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		command := lines.Text()
		answers := f[command]
		if len(answers) == 0 {
			return
		}
		answer := answers[min(asked[command], len(answers)-1)]
		asked[command]++
		if answer == "RESET" {
			_ = conn.(*net.TCPConn).SetLinger(0)
			return
		}
		text, closes := strings.CutSuffix(answer, "CLOSE")
		if _, err := io.WriteString(conn, text); err != nil || closes {
			return
		}
	}
}

const (
	metadump  = "lru_crawler metadump all"
	fakeStats = "STAT version 1.4.33\r\nSTAT time 1800000000\r\nSTAT curr_items 2\r\nEND\r\n"
	metaA     = "key=a exp=1800000300 la=1800000000 cas=1 fetch=no cls=1 size=83\r\n"
	metaB     = "key=b exp=-1 la=1800000000 cas=2 fetch=no cls=1 size=83\r\n"
	busy      = "BUSY currently processing crawler request\r\n"
)

// TestMemcachedAnswers plays the answers that the server at hand does not give.
func TestMemcachedAnswers(t *testing.T) {
	long := "key=" + strings.Repeat("x", 1<<21) + " exp=5 la=5\r\n"
	for _, c := range []struct {
		name   string
		dump   []string
		keys   int
		want   string // part of the error; "" for none
		note   string
		adjust func(*scan.MemcachedOptions)
	}{
		{"complete", []string{metaA + metaB + "END\r\n"}, 2, "", "", nil},
		{"announced", []string{"OK\r\n" + metaA + metaB + "END\r\n"}, 2, "", "", nil},
		{"nothing", []string{"NOTSTARTED no items to crawl\r\n"}, 0, "", "", nil},
		{"busy at first", []string{busy, busy, metaA + metaB + "END\r\n"}, 2, "", "", nil},
		{
			"busy for ever",
			[]string{busy},
			0, "waited 10ms: another crawl of the LRU is running", "",
			func(o *scan.MemcachedOptions) { o.BusyWait = 10 * time.Millisecond },
		},
		{"no end", []string{metaA + metaB}, 2, "", "The server did not end its list: after 100ms", nil},
		{"no end, half", []string{metaA}, 1, "it stopped sending its list for 100ms: 1 of about 2 items read", "", nil},
		{"no answer", []string{""}, 0, "no answer within 100ms", "", nil},
		{"closed", []string{metaA + "CLOSE"}, 1, "it closed the connection in the middle of its list: 1 of about 2", "", nil},
		{"killed", []string{"RESET"}, 0, "it closed the connection in the middle of its list: 0 of about 2", "", nil},
		{"closed in a line", []string{metaA + "key=b exp=180000CLOSE"}, 1, "in the middle of its list: 1 of about 2", "", nil},
		{"old", []string{"ERROR\r\n"}, 0, "memcached 1.4.31 or newer", "", nil},
		{"other error", []string{"SERVER_ERROR out of memory\r\n"}, 0, "SERVER_ERROR out of memory", "", nil},
		{"damaged lines", []string{metaA + "key=%\r\n" + long + metaB + "END\r\n"}, 2, "", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := fakeMemcached{"stats": {fakeStats}, "stats settings": {"END\r\n"}, metadump: c.dump}.start(t)
			o := scan.MemcachedOptions{Timeout: 100 * time.Millisecond}
			if c.adjust != nil {
				c.adjust(&o)
			}
			got, cov, err := drainMemcached(t, openMemcached(t, addr, o))
			if len(got) != c.keys || cov.Read != uint64(c.keys) {
				t.Errorf("%d keys, want %d", len(got), c.keys)
			}
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
			if cov.Complete != (c.want == "") {
				t.Errorf("coverage %+v", cov)
			}
			if notes := strings.Join(cov.Notes, " "); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("notes = %q, want %q", notes, c.note)
			}
			if c.name == "damaged lines" && (cov.Skipped != 2 || cov.Errors[1].Error() != "line 3: longer than 1048576 bytes") {
				t.Errorf("skipped %d, errors %v", cov.Skipped, cov.Errors)
			}
		})
	}
}

func TestMemcachedOpenErrors(t *testing.T) {
	fake := func(answer string) string { return fakeMemcached{"stats": {answer}}.start(t) }
	for _, c := range []struct{ name, url, want string }{
		{"refused", "memcached://" + freeAddr(t), "connection refused"},
		{"Redis", "memcached://" + fake("-ERR unknown command 'stats'\r\n"), "answers like Redis"},
		{"HTTP", "memcached://" + fake("HTTP/1.1 400 Bad Request\r\n"), "answers in HTTP"},
		{"login", "memcached://" + fake("CLIENT_ERROR unauthenticated\r\n"), "wants a login"},
		{"other", "memcached://" + fake("220 mail ESMTP\r\n"), `not memcached: it answers "220 mail ESMTP"`},
		{"silent", "memcached://" + fake(""), "no answer within 100ms"},
		{"closes", "memcached://" + fake("CLOSE"), "closes the connection"},
		{"resets", "memcached://" + fake("RESET"), "closes the connection"},
		{"endless", "memcached://" + fake(endlessStats()), "does not end"},
		{"no such socket", "memcached:///no/such/socket", "no such file"},
		{"other scheme", "redis://localhost", "does not begin with memcached://"},
		{"no host", "memcached://", "want memcached://host:port"},
		{"path", "memcached://localhost/0", "want memcached://host:port"},
		{"password", "memcached://user:secret@localhost", "takes no user and password"},
		{"damaged", "memcached://user:secret@local host", "not a URL of memcached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := scan.OpenMemcached(t.Context(), scan.MemcachedOptions{URL: c.url, Timeout: 100 * time.Millisecond})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
			if strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("the error repeats a password: %v", err)
			}
		})
	}
	if !scan.IsMemcachedURL("MEMCACHED://x") || scan.IsMemcachedURL("memcached.txt") || scan.IsMemcachedURL("memcached://") {
		t.Error("IsMemcachedURL")
	}
}

func endlessStats() string {
	var b strings.Builder
	for i := range 11_000 {
		fmt.Fprintf(&b, "STAT s%d 1\r\n", i)
	}
	return b.String()
}

// TestMemcachedCancel ends the waiting for a silent or busy server with the context.
func TestMemcachedCancel(t *testing.T) {
	for name, answer := range map[string]string{"silent": metaA, "busy": busy} {
		t.Run(name, func(t *testing.T) {
			addr := fakeMemcached{"stats": {fakeStats}, "stats settings": {"END\r\n"}, metadump: {answer}}.start(t)
			m := openMemcached(t, addr, scan.MemcachedOptions{Timeout: time.Hour, BusyWait: time.Hour})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			if err := m.Keys(ctx, func(*scan.Key) error { return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want context.Canceled", err)
			}
		})
	}
}
