package cronlint

import (
	"slices"
	"strings"
	"testing"
)

const configMap = `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  plain: "a: b"
  site.conf: |
    server {
      location / {
        proxy_pass http://a;
        proxy_cache one; # ü

        proxy_cache_lock on;
      }
    }
  application.yml: |
    resilience4j.retry:
      instances:
        a:
          waitDuration: 2s
  client.properties: |
    reconnect.backoff.ms=5000
---
kind: Service
`

// TestConfigMap finds settings in the files that a ConfigMap holds, at their
// places in the ConfigMap, and mends them there.
func TestConfigMap(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll(configMap, "\n", eol)
		res := lintText(t, "k8s/web.yaml", text, Options{})
		want := []string{"10 HS302 warning", "19 HS202 warning", "21 HS215 warning"}
		if got := brief(res); !slices.Equal(got, want) || len(res.Errors) > 0 {
			t.Errorf("got %q, want %q, errors %v", got, want, res.Errors)
		}
		for _, p := range res.Problems {
			if p.File != "k8s/web.yaml" {
				t.Errorf("%s is shown in %s", p.Rule.ID, p.File)
			}
		}
		changes, errs := Mend(res, Options{Now: fixedNow}, true)
		if len(changes) != 1 || len(errs) > 0 {
			t.Fatalf("changes %v, errors %v", changes, errs)
		}
		after := string(changes[0].After)
		if !strings.Contains(after, eol+"        proxy_cache_use_stale updating") || !strings.Contains(after, eol+"          enableRandomizedWait: true") {
			t.Errorf("mended in the wrong place:\n%s", after)
		}
	}
}

func TestConfigMapIgnore(t *testing.T) {
	text := strings.Replace(configMap, "# ü", "# herdscan: ignore[HS302]", 1)
	if got := brief(lintText(t, "web.yaml", text, Options{Disable: []string{"HS202", "HS215"}})); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
