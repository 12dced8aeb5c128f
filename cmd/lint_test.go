package cmd

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFolder runs the test in a new folder with these files.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		write(t, name, text)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const threeAtOnce = "0 * * * * root a\n0 * * * * root b\n0 * * * * root c\n"

func TestLintBadInput(t *testing.T) {
	inFolder(t, map[string]string{
		"bin/crontab": "\x00\x01\x02", "etc/crontab": threeAtOnce, "big/crontab": strings.Repeat("# a long comment\n", 150_000),
	})
	if err := os.Symlink("loop", "loop"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", "etc/self"); err != nil {
		t.Fatal(err)
	}
	r := runner{}
	r.run("lint", "bin/crontab").want(t, 0, "skipped bin/crontab: ", "nothing to judge")
	r.run("lint", "loop").want(t, 2, "loop   could not be read", "too many levels of symbolic links")
	r.run("lint", os.DevNull).want(t, 2, "not a regular file (use - for standard input)")
	r.run("lint", "--max-size", "1", "big").want(t, 0, "larger than 1 MiB")
	r.run("lint", "etc").want(t, 1, "skipped etc/self: link to a folder, not followed", "3 schedules", "[HS110]")
	runner{stdin: "\x00"}.run("lint", "-").want(t, 0, "skipped stdin: ")
}

// A crontab of many lines is judged, and the text about it stays short.
func TestLintLongCrontab(t *testing.T) {
	var b strings.Builder
	for range 3000 {
		b.WriteString("17 4 * * 1 root /usr/local/bin/job\n")
	}
	inFolder(t, map[string]string{"etc/crontab": b.String()})
	got := runner{}.run("lint", "--rule", "HS110", "etc")
	got.want(t, 1, "3,000 schedules", "3000 jobs start in the same minute", "and 2,996 more")
	if len(got.stdout) > 10_000 {
		t.Errorf("%d bytes of text for one finding", len(got.stdout))
	}
}

func TestLintInterrupted(t *testing.T) {
	inFolder(t, map[string]string{"etc/crontab": threeAtOnce})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got := runner{ctx: ctx}.run("lint", "--format", "json", ".")
	if got.code != exitInterrupted {
		t.Fatalf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if d := got.document(t); d.Coverage[0].Complete {
		t.Error("a run that was cut short says it is complete")
	}
	runner{ctx: ctx}.run("lint", "--write-baseline", "base.json", ".").want(t, 2, "cut short, nothing is written")
	if _, err := os.Stat("base.json"); err == nil {
		t.Error("a baseline of half a run is written")
	}
}

func TestLintSettings(t *testing.T) {
	inFolder(t, map[string]string{"etc/crontab": threeAtOnce, "fix": "x"})
	env := func(kv ...string) runner {
		r := runner{env: map[string]string{}}
		for i := 0; i < len(kv); i += 2 {
			t.Setenv(kv[i], kv[i+1])
			r.env[kv[i]] = kv[i+1]
		}
		return r
	}
	env("HERDSCAN_LINT_FORMAT", "short").run("lint", "etc").want(t, 1, "etc/crontab:1:1: warning: 3 jobs start in the same minute, every hour [HS110]\n")
	env("HERDSCAN_DISABLE", "HS101,HS110").run("lint", "etc").want(t, 0)
	before, err := os.ReadFile("etc/crontab")
	if err != nil {
		t.Fatal(err)
	}
	env("HERDSCAN_FIX", "unsafe", "HERDSCAN_LINT_FIX", "unsafe").run("lint", "etc")
	if after, err := os.ReadFile("etc/crontab"); err != nil || string(after) != string(before) {
		t.Errorf("a setting rewrites files: %v\n%s", err, after)
	}
}

func TestLintOutputFiles(t *testing.T) {
	inFolder(t, map[string]string{"etc/crontab": threeAtOnce})
	names := []string{"a.json", "a.md", "a.txt", "a.sarif", "a.xml", "checkstyle=b.xml", "gitlab=c.json", "rdjson=d.json", "short=e.log"}
	args := []string{"lint", "etc"}
	for _, n := range names {
		args = append(args, "-o", n)
	}
	runner{}.run(args...).want(t, 1, "[HS110]")
	for _, spec := range names {
		_, name, ok := strings.Cut(spec, "=")
		if !ok {
			name = spec
		}
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "HS110") {
			t.Errorf("%s: %v\n%s", spec, err, text)
		}
	}
	for name, want := range map[string]string{"a.xml": "<testsuites>", "b.xml": "<checkstyle", "a.sarif": `"version": "2.1.0"`} {
		if text, _ := os.ReadFile(name); !strings.Contains(string(text), want) {
			t.Errorf("%s is no %s", name, want)
		}
	}
	runner{}.run("lint", "etc", "-o", "report.pdf").want(t, 2, "or write FORMAT=FILE")
	runner{}.run("ttl", "-o", "report.sarif").want(t, 2, "taken from the extension")
}

// SARIF is for the upload that follows: findings don't fail, unread input does.
func TestLintSARIFExitCode(t *testing.T) {
	inFolder(t, map[string]string{"etc/crontab": threeAtOnce})
	runner{}.run("lint", "--format", "sarif", "etc").want(t, 0, `"ruleId": "HS110"`)
	runner{}.run("lint", "--format", "sarif", "etc", "missing").want(t, 2, `"executionSuccessful": false`)
	runner{}.run("lint", "etc", "-o", "a.sarif").want(t, 1)
}

// Paths in SARIF begin at the root of the repository, wherever one stands.
func TestLintRepositoryPaths(t *testing.T) {
	inFolder(t, map[string]string{"shop/etc/crontab": threeAtOnce, ".git/HEAD": "ref: refs/heads/main\n"})
	t.Chdir("shop")
	runner{}.run("lint", "--format", "sarif", "etc").want(t, 0, `"uri": "shop/etc/crontab"`)
	runner{}.run("lint", "--format", "short", "etc").want(t, 1, "etc/crontab:1:1: ")
}

// A file of any name and content is harmless in every format.
func TestLintHostileFile(t *testing.T) {
	name := "::error::x\x1b[31m<b>,:%0A\u202e`.cron.d"
	inFolder(t, map[string]string{
		name + "/cron.d/a": "0 * * * * root \x1b]0;pwned\x07 </script> ::set-output\n* * * * \x1b[2J root x\n" + threeAtOnce,
	})
	for _, format := range append([]string{"text", "json", "markdown", "html"}, lintFormats...) {
		got := runner{}.run("lint", "--next", "1", "--format", format, ".")
		if got.code > 1 {
			t.Errorf("%s: exit code %d: %s", format, got.code, got.stderr)
		}
		for _, bad := range []string{"\x1b", "\x07", "\u202e"} {
			if strings.Contains(got.stdout+got.stderr, bad) {
				t.Errorf("%s: %q gets through", format, bad)
			}
		}
		if format != "github" && strings.Contains("\n"+got.stdout, "\n::") {
			t.Errorf("%s: a line begins a workflow command", format)
		}
	}
}

// copyCorpus copies recorded files into a folder of the test's own.
func copyCorpus(t *testing.T) {
	t.Helper()
	from, err := filepath.Abs(shared(t, "corpus/lint"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	err = filepath.WalkDir(from, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(p)
		if err == nil {
			write(t, rel, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Each format can be read back for every recorded file.
func TestLintCorpusFormats(t *testing.T) {
	copyCorpus(t)
	n := len(runner{}.run("lint", "--code", "--hosts", "100", "--format", "json", ".").document(t).Findings)
	if n < 50 {
		t.Fatalf("%d findings", n)
	}
	for _, format := range []string{"json", "sarif", "gitlab", "rdjson"} {
		got := runner{}.run("lint", "--code", "--hosts", "100", "--format", format, ".")
		if !json.Valid([]byte(got.stdout)) {
			t.Errorf("%s: no JSON", format)
		}
	}
	for _, format := range []string{"checkstyle", "junit"} {
		got := runner{}.run("lint", "--code", "--hosts", "100", "--format", format, ".")
		for dec := xml.NewDecoder(strings.NewReader(got.stdout)); ; {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
		}
	}
	for _, format := range []string{"short", "github"} {
		got := runner{}.run("lint", "--code", "--hosts", "100", "--format", format, ".")
		if lines := strings.Count(got.stdout, "\n"); lines != n && lines != n+1 {
			t.Errorf("%s: %d lines for %d findings", format, lines, n)
		}
	}
}

// What --fix has mended stays mended, and a second run changes nothing.
func TestLintCorpusFix(t *testing.T) {
	copyCorpus(t)
	first := runner{}.run("lint", "--fix", "--fail-on", "never", ".")
	first.want(t, 0, "mended: crontab/supercronic-periodic.crontab")
	if diff := (runner{}).run("lint", "--diff", "--fail-on", "never", "."); diff.stdout != "" {
		t.Errorf("a second --fix would change:\n%s", diff.stdout)
	}
}
