package cronlint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cached is an nginx file in which HS301 and HS302 are found at line 1.
const cached = "proxy_cache one;\n"

// tree writes files below a new folder and makes it the working folder.
func tree(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sources lints and returns the recognised files.
func sources(t *testing.T, o Options, paths ...string) ([]string, *Result) {
	t.Helper()
	o.Now = fixedNow
	res, err := Lint(context.Background(), paths, o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range res.Sources {
		names = append(names, f.Path)
	}
	return names, res
}

func TestWalk(t *testing.T) {
	files := map[string]string{
		"a.conf": cached, "b/c.conf": cached, "b/readme.md": "proxy_cache one;", "node_modules/x/y.conf": cached,
		".git/hooks/z.conf": cached, "out/gen.conf": cached, "out/keep.conf": cached, "b/local.conf": cached,
		".gitignore": "out/*\n!out/keep.conf\n", "b/.gitignore": "/local.conf\n", ".hidden/h.conf": cached,
	}
	tests := []struct {
		name  string
		o     Options
		paths []string
		want  []string
	}{
		{"all", Options{}, []string{"."}, []string{".hidden/h.conf", "a.conf", "b/c.conf", "out/keep.conf"}},
		{"a folder has the rules above it", Options{}, []string{"out"}, []string{"out/keep.conf"}},
		{"a named file is read whatever is ignored", Options{}, []string{"out/gen.conf"}, []string{"out/gen.conf"}},
		{"each file once", Options{}, []string{"a.conf", "./a.conf", "."}, []string{".hidden/h.conf", "a.conf", "b/c.conf", "out/keep.conf"}},
		{"no gitignore", Options{NoGitignore: true}, []string{"b", "out"}, []string{"b/c.conf", "b/local.conf", "out/gen.conf", "out/keep.conf"}},
		{"exclude a folder", Options{Exclude: []string{"b/"}}, []string{"."}, []string{".hidden/h.conf", "a.conf", "out/keep.conf"}},
		{"exclude by name", Options{Exclude: []string{"c.conf"}}, []string{"b"}, nil},
		{"include", Options{Include: []string{"b/**/*.conf"}}, []string{"."}, []string{"b/c.conf"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree(t, files)
			got, res := sources(t, tt.o, tt.paths...)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if len(res.Errors) > 0 {
				t.Error(res.Errors)
			}
		})
	}
}

func TestAbsolutePathsAreShownFromTheWorkingFolder(t *testing.T) {
	tree(t, map[string]string{"a/b.conf": cached})
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	_, rel := sources(t, Options{}, "a")
	_, abs := sources(t, Options{}, filepath.Join(dir, "a"))
	if d := cmp.Diff(fingerprints(rel), fingerprints(abs)); d != "" || len(fingerprints(rel)) == 0 {
		t.Errorf("fingerprints differ: %s", d)
	}
}

func fingerprints(r *Result) (out []string) {
	for _, p := range r.Problems {
		out = append(out, p.File+" "+p.Rule.ID+" "+p.Fingerprint)
	}
	return out
}

func TestLinks(t *testing.T) {
	tree(t, map[string]string{"real/a.conf": cached})
	for from, to := range map[string]string{"real/loop": "..", "copy.conf": "real/a.conf", "gone.conf": "nowhere", "self.conf": "self.conf"} {
		if err := os.Symlink(to, from); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	got, res := sources(t, Options{}, ".")
	if !slices.Equal(got, []string{"copy.conf"}) {
		t.Errorf("a file and its link count once: got %q", got)
	}
	want := []Skip{
		{"gone.conf", "link that leads nowhere"},
		{"real/loop", "link to a folder, not followed"},
		{"self.conf", "link that leads nowhere"},
	}
	if d := cmp.Diff(want, res.Skipped); d != "" {
		t.Error(d)
	}
}

func TestBadInput(t *testing.T) {
	tree(t, map[string]string{
		"bin.conf": "proxy_cache\x00 one;\n", "a.png": "\x89PNG\x00", "open.conf": "server {\n  proxy_cache one;\n", "empty.conf": "",
		"vs.yaml":       "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http: [\n",
		"bom.conf":      "\xef\xbb\xbfproxy_cache one;\r\n",
		"chart/vs.yaml": "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  {{- with .x }}\n  http: {{ . }}\n  {{- end }}\n",
	})
	big, err := os.Create("big.conf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := big.WriteString(strings.Repeat("# text\n", 2000)); err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(50 << 20); err != nil { // sparse
		t.Fatal(err)
	}
	if err := big.Close(); err != nil {
		t.Fatal(err)
	}
	got, res := sources(t, Options{}, ".", "missing.conf")
	if want := []string{"bom.conf", "chart/vs.yaml", "open.conf", "vs.yaml"}; !slices.Equal(got, want) {
		t.Errorf("recognised %q, want %q", got, want)
	}
	if d := cmp.Diff([]Skip{{"big.conf", "larger than 8 MiB"}, {"bin.conf", "binary or UTF-16"}}, res.Skipped); d != "" {
		t.Error(d)
	}
	var errs []string
	for _, e := range res.Errors {
		errs = append(errs, e.Error())
	}
	if len(errs) != 3 || errs[0] != "missing.conf: no such file or directory" || errs[1] != "open.conf:1: a block is not closed" ||
		!strings.HasPrefix(errs[2], "vs.yaml:") {
		t.Errorf("errors %q", errs)
	}
	want := []string{"1 HS301 warning", "1 HS302 warning", "4 HS901 note", "2 HS301 warning", "2 HS302 warning"}
	if got := brief(res); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnknownFiles(t *testing.T) {
	tree(t, map[string]string{"a.txt": "hello", "b/c.txt": "hello", "tool": "\x7fELF\x00", "b/tool": "\x7fELF\x00"})
	_, res := sources(t, Options{Stdin: strings.NewReader("\x00")}, "a.txt", "tool", "b", "-")
	want := []Skip{{"a.txt", "no known format"}, {"stdin", "binary"}, {"tool", "binary"}}
	if d := cmp.Diff(want, res.Skipped); d != "" {
		t.Errorf("only the files that were named are worth a word: %s", d)
	}
	if res.Files.Seen != 5 || res.Files.Recognised != 0 {
		t.Errorf("counts %+v", res.Files)
	}
}

func TestWrongUse(t *testing.T) {
	for name, o := range map[string]Options{
		"bad glob": {Exclude: []string{"["}}, "no such rule": {Disable: []string{"HS999"}}, "group": {Groups: map[string]string{"[": "a"}},
	} {
		if _, err := Lint(context.Background(), []string{"."}, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Lint(context.Background(), nil, Options{}); err == nil {
		t.Error("no paths: no error")
	}
	if _, err := Lint(context.Background(), []string{"-"}, Options{}); err == nil {
		t.Error("no standard input: no error")
	}
}

func TestCancelled(t *testing.T) {
	tree(t, map[string]string{"a.conf": cached})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := Lint(ctx, []string{"."}, Options{})
	if !errors.Is(err, context.Canceled) || res == nil || !res.Partial {
		t.Errorf("got %+v, %v", res, err)
	}
}

// TestOrder runs one tree several times, in different orders of its paths.
func TestOrder(t *testing.T) {
	files := make(map[string]string)
	for _, d := range "zyxabc" {
		for _, n := range "3120" {
			files[string(d)+"/"+string(n)+".conf"] = cached
		}
	}
	tree(t, files)
	_, first := sources(t, Options{}, "a", "b", "c", "x", "y", "z")
	if len(first.Problems) != 48 {
		t.Fatalf("%d problems, want 48", len(first.Problems))
	}
	for range 5 {
		_, again := sources(t, Options{}, "z", "y", "b", "x", "a", "c")
		if d := cmp.Diff(fingerprints(first), fingerprints(again)); d != "" {
			t.Fatal(d)
		}
	}
}
