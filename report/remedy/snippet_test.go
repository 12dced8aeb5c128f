package remedy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// small are numbers with which the snippets run in a moment.
var small = numbers{
	TTL: 100, Low: 85, High: 115, Span: 30, Lease: 5, Bound: 10, Rate: 500,
	NegativeLow: 45, NegativeHigh: 75, Window: 54, BaseMS: 8, CapMS: 20, Attempts: 4,
}

// written are the remedies that have code.
var written = []Name{Jitter, Coalesce, Lock, ServeStale, EarlyRefresh, WarmUp, Negative, Backoff, RunOnce}

// filled returns the snippets of a language, by remedy.
func filled(t *testing.T, lang string) map[Name]string {
	t.Helper()
	out := map[Name]string{}
	for _, name := range written {
		text, err := snippets.ReadFile(path.Join("snippets", lang, string(name)+".tmpl"))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = fill(string(text), small)
	}
	return out
}

func TestEverySnippetIsTried(t *testing.T) {
	n := 0
	if err := fs.WalkDir(snippets, "snippets", func(_ string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			n++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if want := len(written) * len(Langs()); n != want {
		t.Errorf("%d snippets, of which %d are tried", n, want)
	}
	for _, lang := range Langs() {
		for name, code := range filled(t, lang) {
			if strings.Contains(code, "{{"+".") || strings.Contains(code, "<no value>") {
				t.Errorf("%s/%s is not filled in", lang, name)
			}
		}
	}
}

// need finds a program, or skips the test; in CI it must be there.
func need(t *testing.T, program string) string {
	t.Helper()
	p, err := exec.LookPath(program)
	if err == nil {
		return p
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing (make test installs it)", program)
	}
	t.Skipf("%s is missing: its snippets are not tried", program)
	return ""
}

// run runs a driver of testdata, which ends with "ok" when every snippet does
// what it should.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasSuffix(bytes.TrimSpace(out), []byte("ok")) {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// workshop is a folder with the driver of a language.
func workshop(t *testing.T, lang string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", lang))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPythonSnippets(t *testing.T) {
	python := need(t, "python3")
	dir := workshop(t, "python")
	for name, code := range filled(t, "python") {
		if name == Jitter {
			code = "import random\n\n\ndef put(r, key, value):\n    " + code
		}
		write(t, filepath.Join(dir, string(name)+".py"), code+"\n")
	}
	run(t, dir, python, "-W", "error", "drive.py")
}

func TestRubySnippets(t *testing.T) {
	ruby := need(t, "ruby")
	dir := workshop(t, "ruby")
	for name, code := range filled(t, "ruby") {
		if name == Jitter {
			code = "def put(redis, key, value)\n" + code + "\nend"
		}
		write(t, filepath.Join(dir, string(name)+".rb"), code+"\n")
	}
	run(t, dir, ruby, "-w", "drive.rb")
}

func TestJavaScriptSnippets(t *testing.T) {
	node := need(t, "node")
	dir := workshop(t, "js")
	exports := map[Name]string{WarmUp: "warm", Backoff: "retry", RunOnce: "once", Jitter: "put"}
	for name, code := range filled(t, "js") {
		if name == Jitter {
			code = "async function put(redis, key, value) {\n" + code + "\n}"
		}
		export := exports[name]
		if export == "" {
			export = "get"
		}
		write(t, filepath.Join(dir, string(name)+".js"), "'use strict';\n"+code+"\nmodule.exports = "+export+";\n")
	}
	run(t, dir, node, "--unhandled-rejections=strict", "drive.js")
}

func TestPHPSnippets(t *testing.T) {
	php := need(t, "php")
	dir := workshop(t, "php")
	for name, code := range filled(t, "php") {
		if name == Jitter {
			code = "function put(\\Redis $redis, string $key, string $value): void\n{\n" + code + "\n}"
		}
		file := filepath.Join(dir, string(name)+".php")
		write(t, file, "<?php\ndeclare(strict_types=1);\nnamespace "+string(name)+";\n"+code+"\n")
		if out, err := exec.CommandContext(t.Context(), php, "-l", file).CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", name, out)
		}
	}
	run(t, dir, php, "-d", "error_reporting=-1", "-d", "display_errors=stderr", "drive.php")
}

func TestJavaSnippets(t *testing.T) {
	javac, java := need(t, "javac"), need(t, "java")
	dir := workshop(t, "java")
	const imports = "import java.io.IOException;\nimport java.util.*;\nimport java.util.concurrent.*;\nimport java.util.function.*;\n" +
		"import redis.clients.jedis.JedisPooled;\nimport redis.clients.jedis.exceptions.JedisException;\nimport redis.clients.jedis.params.SetParams;\n"
	for name, code := range filled(t, "java") {
		if name == Jitter {
			code = "static void put(JedisPooled jedis, String key, String value) {\n" + code + "\n}"
		}
		class := camel(name)
		write(t, filepath.Join(dir, class+".java"), imports+"class "+class+" {\n"+code+"\n}\n")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.java"))
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-Xlint:all", "-Werror", "-proc:none", "-sourcepath", dir, "-d", dir}, files...)
	if out, err := exec.CommandContext(t.Context(), javac, args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	run(t, dir, java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-ea", "-cp", dir, "Drive")
}

// camel turns "ttl_jitter" into "TtlJitter".
func camel(name Name) string {
	var b strings.Builder
	for part := range strings.SplitSeq(string(name), "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// TestGoSnippets puts all snippets into one package, with names of their own,
// and tests them against an in-memory Redis.
func TestGoSnippets(t *testing.T) {
	goTool := need(t, "go")
	dir := t.TempDir()
	var files []string
	for name, code := range filled(t, "go") {
		if name == Jitter {
			code = "func put(ctx context.Context, rdb *redis.Client, key, value string) error {\n" + code + "\nreturn err\n}"
		}
		file := filepath.Join(dir, string(name)+"_test.go")
		write(t, file, apart(t, name, "package drive\n"+goImports(code)+code+"\n"))
		files = append(files, file)
	}
	driver, err := os.ReadFile(filepath.Join("testdata", "go", "drive.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "drive_test.go")
	write(t, file, string(driver))
	files = append(files, file)
	if out, err := exec.CommandContext(t.Context(), goTool, append([]string{"vet"}, files...)...).CombinedOutput(); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), goTool, append([]string{"test", "-count=1"}, files...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("go test: %v\n%s", err, out)
	}
}

// goImports writes the imports that a snippet uses.
func goImports(code string) string {
	paths := map[string]string{
		"context": "context", "time": "time", "json": "encoding/json", "math": "math", "errors": "errors", "sql": "database/sql", "os": "os",
		"redis": "github.com/redis/go-redis/v9", "singleflight": "golang.org/x/sync/singleflight",
		"mathrand": "math/rand/v2", "rand": "math/rand/v2",
	}
	if strings.Contains(code, "rand.Text()") {
		paths["rand"] = "crypto/rand"
	}
	var b strings.Builder
	for name, p := range paths {
		if regexp.MustCompile(`(^|[^\w."])` + name + `\.[A-Z]`).MatchString(code) {
			fmt.Fprintf(&b, "import %s %q\n", name, p)
		}
	}
	return b.String()
}

// apart adds the name of the remedy to every name that a file declares.
func apart(t *testing.T, remedy Name, src string) string {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, string(remedy)+".go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	declared := map[string]bool{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declared[d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					declared[s.Name.Name] = true
				case *ast.ValueSpec:
					declared[s.Names[0].Name] = true
				}
			}
		}
	}
	ends := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && declared[id.Name] {
			ends[set.Position(id.End()).Offset] = true
		}
		return true
	})
	var b strings.Builder
	for i := range len(src) {
		if ends[i] {
			b.WriteString(camel(remedy))
		}
		b.WriteByte(src[i])
	}
	return b.String()
}
