package cronlint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// TestNothingTakesLong holds files of an eighth of a megabyte that would take hours if
// any step were quadratic. There is no bound on the time: the test would not
// end.
func TestNothingTakesLong(t *testing.T) {
	const size = 1 << 17
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	tests := []struct{ name, file, text string }{
		{"one line of yaml", "application.yml", "resilience4j: [" + fill("ü, ") + "]"},
		{"deep yaml", "application.yml", "resilience4j: " + strings.Repeat("[", 5000)},
		{"comments to herdscan", "a.conf", fill("# herdscan: ignore[HS301]\n") + cached},
		{"problems and comments", "a.conf", fill("server { proxy_cache a; } # herdscan: ignore[HS301]\n")},
		{"one line of nginx", "a.conf", "server {\n" + fill("proxy_cache a; ") + "}"},
		{"nginx blocks on one line", "a.conf", "server {\n}\n" + fill("server { proxy_cache a; } ")},
		{"open braces", "a.conf", cached + fill("a {")},
		{"templates", "a.conf", cached + fill("{{ a }} x ")},
		{"open templates", "a.conf", cached + fill("{{ x ")},
		{"continued properties", "application.properties", "resilience4j=a\\\n" + fill("b\\\n")},
		{"many properties", "application.properties", "resilience4j=1\n" + fill("k.a=1\n") + numbered(size)},
		{"many instances", "application.yml", "resilience4j.retry:\n instances:\n" + numberedYAML(size/4)},
		{"vcl", "a.vcl", "sub x {\n" + fill("set beresp.grace = 0s; ") + "}"},
		{"headers", "vercel.json", "{" + fill(`"Cache-Control": "max-age=60", `) + "}"},
		{"brackets of code", "a.py", "from tenacity import retry\n" + fill("@retry(")},
		{"quotes of code", "a.py", "from celery import task\n" + fill(`\'`) + "task("},
		{"json brackets", "appsettings.json", `{"MaxRetryAttempts": ` + fill("[")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := lintText(t, tt.file, tt.text, Options{OptIn: []string{"code", "pedantic"}})
			if res.Files.Recognised != 1 {
				t.Errorf("not recognised: %v", res.Skipped)
			}
		})
	}
}

func numbered(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString("key" + string(rune('a'+i%26)) + strings.Repeat("x", i%7) + ".n" + time.Duration(i).String() + "=1\n")
	}
	return b.String()
}

func numberedYAML(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString("  i" + time.Duration(i).String() + ": {maxAttempts: 4}\n")
	}
	return b.String()
}

// TestLongCrontab judges 100,000 jobs by all rules, and loses none.
func TestLongCrontab(t *testing.T) {
	const jobs = 100_000
	var b strings.Builder
	for i := range jobs {
		fmt.Fprintf(&b, "%d %d %d %d * /opt/job\n", i%60, i/60%24, i/1440%28+1, i/40320+1)
	}
	res := lintText(t, "crontab", b.String(), Options{})
	if len(res.Entries) != jobs || len(res.Errors) != 0 {
		t.Errorf("%d jobs, %v", len(res.Entries), res.Errors)
	}
	if n := res.Count(rule.Warning); n != 0 {
		t.Errorf("%d warnings on jobs that never meet, the first: %+v", n, res.Problems[0])
	}
}
