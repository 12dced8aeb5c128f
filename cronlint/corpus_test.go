package cronlint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// corpusDir holds real files of public projects. They are read where they stand.
const corpusDir = "../../shared/corpus/lint"

func corpus(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(corpusDir, filepath.FromSlash(name))
	if _, err := os.Stat(file); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("the corpus is not here: %v", err)
	}
	return file
}

// TestCorpusRetryAndCache says for each file of retry and cache settings what
// is found, no more and no less.
func TestCorpusRetryAndCache(t *testing.T) {
	tests := []struct {
		file  string
		optIn string
		want  []string // "line rule severity"
	}{
		{file: "grpc/pubsub.json"}, // jitter is built in
		{file: "grpc/pubsub.json", optIn: "pedantic", want: []string{"31 HS214 note"}},
		// Four servers are checked and nothing spreads them: the list of the corpus
		// says "same" as for the next file.
		{file: "haproxy/basic-check.cfg", want: []string{"1 HS220 note"}},
		{file: "haproxy/content-sw-sample.cfg", want: []string{"10 HS220 note"}},
		// The routes with "backoff: 3ms".
		{file: "istio/istio-gateway-http.golden.yaml", want: []string{"HS213 warning"}},
		{file: "k8s/argo-retry-backoff.yaml", want: []string{"15 HS210 note"}},
		{file: "nginx/discourse-sample-excerpt.conf", want: []string{
			"7 HS301 warning", "7 HS302 warning", "14 HS301 warning", "14 HS302 warning",
		}},
		{file: "nginx/lancache-cache_path.conf"},
		// "updating" is set there, so only the lock is missing; that one visitor
		// waits for each refresh is a note.
		{file: "nginx/technobia-proxy_cache.conf", want: []string{"3 HS301 warning", "3 HS303 note"}},
		{file: "resilience4j/demo-application.yml", want: []string{"HS202 warning"}},
	}
	for _, tt := range tests {
		t.Run(tt.file+tt.optIn, func(t *testing.T) {
			o := lint.Options{Now: fixedNow, OptIn: []string{tt.optIn}}
			res, err := Lint(context.Background(), []string{corpus(t, tt.file)}, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range res.Errors {
				t.Error(e)
			}
			if res.Files.Recognised != 1 {
				t.Errorf("not recognised: %v", res.Skipped)
			}
			var got []string
			for _, p := range res.Problems {
				text := fmt.Sprintf("%d %s %s", p.Line, p.Rule.ID, p.Severity)
				if !slices.ContainsFunc(tt.want, func(w string) bool { return w[0] != 'H' }) {
					_, text, _ = strings.Cut(text, " ")
				}
				got = append(got, text)
				t.Logf("%s: %s: %s [%s]", p.Location, p.Severity, p.Message, p.Rule.ID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestLabRetries holds the configuration that caused a retry storm and its
// twin that does not.
func TestLabRetries(t *testing.T) {
	for file, want := range map[string][]string{
		"../../shared/lab/S6/retry.yml":  {"HS202 warning"},
		"../../shared/lab/S6b/retry.yml": nil,
	} {
		if _, err := os.Stat(file); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("the lab is not here: %v", err)
		}
		res, err := Lint(context.Background(), []string{file}, lint.Options{Now: fixedNow})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range res.Problems {
			got = append(got, p.Rule.ID+" "+p.Severity.String())
		}
		if !slices.Equal(got, want) || res.Count(rule.Warning) != len(want) {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}
