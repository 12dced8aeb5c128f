package cronlint

import (
	"context"
	"strings"
	"testing"
)

// fuzzNames are names that together reach every format.
var fuzzNames = []string{
	"nginx.conf", "application.yml", "application.properties", "vs.yaml", "svc.json", "appsettings.json", "haproxy.cfg",
	"default.vcl", ".env", ".htaccess", "vercel.json", "tasks.py", "a.ts", "a.go", "A.java", "a.php", "a.rb", "A.cs",
	"mosquitto.conf", "telegraf.conf", "minion", "crontab", "cron.d/job", "x.timer", ".github/workflows/a.yml", "a.tf",
	"Jenkinsfile", "wrangler.toml", "anacrontab", ".github/dependabot.yml", "a.nomad", "wrangler.jsonc",
}

// FuzzLint runs everything over one file: whatever the bytes, nothing may
// panic, and every place must lie inside the file.
func FuzzLint(f *testing.F) {
	for _, c := range Checks() {
		for i, name := range fuzzNames {
			if strings.HasSuffix(c.ExampleFile, name) || i == 0 {
				f.Add(uint(i), c.Rule.Before)
				f.Add(uint(i), c.Rule.After)
			}
		}
	}
	f.Add(uint(3), "kind: &a VirtualService\napiVersion: istio.io\nspec: {http: [*a, {<<: *a}]}\n")
	f.Add(uint(1), "resilience4j.retry: &a\n  configs: {default: *a}\n")
	f.Add(uint(3), configMap)
	f.Fuzz(func(t *testing.T, which uint, text string) {
		name := fuzzNames[which%uint(len(fuzzNames))]
		o := Options{
			Stdin: strings.NewReader(text), StdinName: name, Now: fixedNow, OptIn: []string{"code", "pedantic"}, Hosts: 50,
		}
		res, err := Lint(context.Background(), []string{"-"}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range res.Errors {
			if strings.Contains(e.Error(), "please report it") {
				t.Fatalf("%s: %v", name, e)
			}
		}
		for _, p := range res.Problems {
			if p.Line < 0 || p.Line > res.Sources[0].Lines() || p.Fingerprint == "" || p.Message == "" {
				t.Fatalf("%s: %+v", name, p)
			}
			if p.Fix != nil && (p.Fix.Span.Start < 0 || p.Fix.Span.End > len(text) || p.Fix.Span.Start > p.Fix.Span.End) {
				t.Fatalf("%s: edit %+v of %d bytes", name, p.Fix, len(text))
			}
		}
	})
}
