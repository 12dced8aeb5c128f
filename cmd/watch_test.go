package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan/redistest"
	"github.com/herdscan/herdscan/watch"
)

// fill writes keys that die together.
func fill(t *testing.T, s *redistest.Server, prefix string, n int, ttl time.Duration) {
	t.Helper()
	s.Pipe(t, func(do func(...string)) {
		for i := range n {
			do("SET", fmt.Sprintf("%s%d", prefix, i), "v", "PX", fmt.Sprint(ttl.Milliseconds()))
		}
	})
}

// One look: a line for people, and the report with its exit code.
func TestWatchOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	fill(t, server, "session:", 400, time.Hour)
	url := "redis://" + server.Addr
	r := runner{}.run("watch", url, "--once", "--interval", "100ms")
	r.want(t, exitFindings, "400 keys of session:*", "session:* expires as a herd", "HS401")
	d := runner{}.run("watch", url, "--once", "--interval", "100ms", "--format", "json").document(t)
	if d.Command != "watch" || len(d.Findings) != 1 || d.Findings[0].Rule != "HS401" || d.Coverage[0].Read != 400 || !d.Coverage[0].Complete {
		t.Errorf("%+v", d)
	}
	server.Do(t, "FLUSHALL")
	runner{}.run("watch", url, "--once", "--interval", "100ms").want(t, exitClean)
}

// A server that is not there is no reason to stop, but the report says that
// nothing was seen.
func TestWatchWithoutServer(t *testing.T) {
	t.Parallel()
	r := runner{}.run("watch", fmt.Sprintf("redis://127.0.0.1:%d", redistest.FreePort(t)), "--for", "500ms")
	r.want(t, exitError, "connection refused", "lost at the end")
}

// Ctrl-C ends a run with the report of what was seen.
func TestWatchInterrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, stop)
	runner{ctx: ctx}.run("watch", "redis://"+server.Addr).want(t, exitInterrupted, "watched for")
}

// Secrets are refused as arguments, and are in no output.
func TestWatchRefusesSecrets(t *testing.T) {
	for _, args := range [][]string{
		{"redis://u:hunter2@h"},
		{"redis://h", "--coordinate", "redis://:hunter2@h"},
		{"redis://h", "--dsn", "u:hunter2@tcp(h)/"},
		{"redis://h", "--notify", "https://hooks.slack.com/services/hunter2"},
		{"redis://h", "--notify", "https://h/?token=hunter2"},
		{"redis://h", "--notify", "https://h/hunter2hunter2hunter2"},
	} {
		r := runner{}.run(append([]string{"watch"}, args...)...)
		if r.code != exitError || strings.Contains(r.stdout+r.stderr, "hunter2") || !strings.Contains(r.stderr, "list of processes") {
			t.Errorf("%v: %d %s", args, r.code, r.stderr)
		}
	}
}

func TestWatchUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"dump.rdb"}, "needs a live Redis"},
		{[]string{"memcached://h"}, "needs a live Redis"},
		{[]string{"redis://h", "--once", "--for", "1m"}, "not both"},
		{[]string{"redis://h", "--interval", "1ms"}, "at least 100ms"},
		{[]string{"redis://h", "--notify-from", "loud"}, "note, warning and error"},
		{[]string{"redis://h", "--notify", "ftp://h"}, "http:// or https://"},
		{[]string{"redis://h", "--listen", "256.0.0.1:x"}, "--listen"},
	} {
		runner{}.run(append([]string{"watch"}, c.args...)...).want(t, exitError, c.says)
	}
	runner{}.run("watch", "--explain-access").want(t, exitClean, "MONITOR", "CONFIG SET", "PROCESSLIST")
}

// A herd is announced in the pipe and to the webhook, and the metrics know it.
func TestWatchAlertsAndServes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	fill(t, server, "product:", 300, 9*time.Second)
	var mu sync.Mutex
	var texts []string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, string(b))
	}))
	defer hook.Close()
	address := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	done := make(chan result)
	go func() {
		r := runner{env: map[string]string{"HERDSCAN_NOTIFY": hook.URL + "/secret"}}
		done <- r.run("watch", "redis://"+server.Addr, "--for", "14s", "--every", "1s", "--listen", address, "--interval", "200ms")
	}()
	metrics := ""
	err := redistest.Eventually(func() error {
		metrics = get("http://" + address + "/metrics")
		for _, want := range []string{
			`herdscan_up{target="redis://` + server.Addr + `"} 1`, `herdscan_next_tooth_keys{rule="HS401",subject="product:*",target="redis://` + server.Addr + `"} 300`,
			`herdscan_alerts_total{result="sent"`, "herdscan_cache_misses_total", "herdscan_blind{",
		} {
			if !strings.Contains(metrics, want) {
				return fmt.Errorf("%s is missing in:\n%s", want, metrics)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	documented(t, metrics)
	if h := get("http://" + address + "/healthz"); !strings.HasPrefix(h, "ok\n") {
		t.Errorf("/healthz: %q", h)
	}
	r := <-done
	r.want(t, exitFindings, "due      warning: product:* 300 keys", "begins   warning: product:* 300 keys", "ended    warning: product:*", "While watched it came once")
	if strings.Contains(r.stdout+r.stderr, hook.URL) {
		t.Error("the webhook's address is in the output")
	}
	mu.Lock()
	defer mu.Unlock()
	for i, stage := range []string{"due", "begins", "ended"} {
		if i >= len(texts) || !strings.Contains(texts[i], `"event":"`+stage+`"`) || !strings.Contains(texts[i], `"text":"[warning]`) {
			t.Errorf("alert %d is no %s: %q", i, stage, texts)
		}
	}
}

func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

var ownMetric = regexp.MustCompile(`herdscan_[a-z_]+`)

// documented checks that docs/watch.md has every metric, and that what the
// alert rules and the dashboard ask for is there.
func documented(t *testing.T, metrics string) {
	t.Helper()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	doc := read("watch.md")
	for _, line := range strings.Split(metrics, "\n") {
		if name, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, _, _ = strings.Cut(name, " ")
			if strings.HasPrefix(name, "herdscan_") && !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("docs/watch.md does not have %s", name)
			}
		}
	}
	for _, file := range []string{"alerts.yml", "grafana.json"} {
		for _, name := range ownMetric.FindAllString(read(file), -1) {
			if !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("docs/%s asks for %s, which docs/watch.md does not have", file, name)
			}
		}
	}
}

// The alert rules and the dashboard can be parsed, and have what they need.
func TestAlertRulesAndDashboard(t *testing.T) {
	b, err := os.ReadFile("../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	dec := yaml.NewDecoder(strings.NewReader(string(b)))
	dec.KnownFields(true)
	if err := dec.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Expr == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("%+v lacks something", r)
			}
		}
	}
	if len(rules.Groups) == 0 {
		t.Error("no rules")
	}
	b, err = os.ReadFile("../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil || board.Title == "" || len(board.Panels) == 0 {
		t.Fatal(err, board)
	}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			if !strings.Contains(x.Expr, "herdscan_") {
				t.Errorf("%s: %s", p.Title, x.Expr)
			}
		}
	}
}

// A frame fits its screen whatever the size, holds no control characters of
// keys, and no colours where none are wanted.
func TestWatchFrame(t *testing.T) {
	now := time.Date(2026, 11, 3, 14, 2, 0, 0, time.UTC)
	s := watch.State{
		Rates: watch.Rates{At: now, Known: true, Hits: 1203, Misses: 12, Keys: 60_318, CPU: 0.12},
		Forecast: []watch.Tooth{{
			Rule: "HS401", Severity: rule.Warning, Subject: "session:*\x1b[31m", From: now.Add(192 * time.Second), To: now.Add(193 * time.Second), Keys: 3402,
		}},
		Herds:  []watch.Herd{{Rule: "HS410", Severity: rule.Warning, Subject: "price:42\r\n", Stage: watch.Begins, Text: "was missed"}},
		Limits: []string{"INFO: may not be used"},
		Hot:    []watch.HotKey{{Key: "price:42", Teeth: 3, Misses: 311, Expire: now.Add(28 * time.Second)}},
	}
	for i := range 60 {
		s.History = append(s.History, watch.Rates{At: now.Add(time.Duration(i-60) * time.Second), Known: true, Misses: float64(i % 7)})
		s.Told = append(s.Told, watch.Event{At: now, Stage: watch.Due, Rule: "HS401", Subject: strings.Repeat("é", 300)})
	}
	f := watchFrame{target: "redis://cache-1:6379", began: now.Add(-time.Hour)}
	for _, size := range [][2]int{{80, 24}, {200, 60}, {20, 5}, {1, 1}} {
		lines := f.lines(&s, now, size[0], size[1])
		if len(lines) > size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > max(size[0], 60) || strings.ContainsAny(l, "\x1b\r\n") {
				t.Errorf("%v: %d columns: %q", size, n, l)
			}
		}
	}
	all := strings.Join(f.lines(&s, now, 120, 40), "\n")
	for _, want := range []string{"in 3m12s: 3,402 keys of session:*", "price:42", "dies in 28s", "INFO: may not be used", "hits 1,203/s"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
	painted := paint(f.lines(&s, now, 80, 24), 24)
	if !strings.HasPrefix(painted, cursorHome) || !strings.HasSuffix(painted, clearBelow) || strings.Contains(painted, "\x1b[2J") {
		t.Errorf("a frame is not drawn over the one before: %q", painted)
	}
}

// The address that metrics are served at may be any, but one that others can
// reach is warned about.
func TestWatchListenWarns(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := runner{}.run("watch", "redis://"+server.Addr, "--once", "--interval", "100ms", "--listen", "0.0.0.0:0")
	r.want(t, exitClean, "can be read there by everybody")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	runner{}.run("watch", "redis://"+server.Addr, "--once", "--listen", l.Addr().String()).want(t, exitError, "address already in use")
}
