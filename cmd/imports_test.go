package cmd

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/herdscan/herdscan"

// mayImport is the architecture: which of our packages each may import. A
// sub-package obeys the row of its parent. comb/rule is the shape of a rule's
// documentation, which every package that finds something fills in.
var mayImport = map[string][]string{
	"":         {"cmd"},
	"cmd":      {"scan", "ttlhist", "querylog", "cronlint", "comb", "report", "watch", "fixtures"},
	"watch":    {"scan", "ttlhist", "querylog", "comb"},
	"report":   {"ttlhist", "querylog", "cronlint", "comb"},
	"ttlhist":  {"scan", "comb"},
	"querylog": {"comb"},
	"cronlint": {"comb"},
	"scan":     {},
	"comb":     {},
	"fixtures": {},
	"docs":     {"report"}, // the generator of docs/rules.md
}

// soleUser names the only package that may use a library.
var soleUser = map[string]string{
	"github.com/spf13/cobra":              "cmd",
	"github.com/redis/go-redis/v9":        "scan",
	"github.com/go-sql-driver/mysql":      "querylog",
	"github.com/olekukonko/tablewriter":   "report",
	"github.com/guptarohit/asciigraph":    "report",
	"github.com/owenrumney/go-sarif/v3":   "report",
	"github.com/schollz/progressbar/v3":   "cmd",
	"github.com/knadh/koanf/v2":           "cmd",
	"github.com/alicebob/miniredis/v2":    "cmd",
	"github.com/prometheus/client_golang": "watch",
}

func TestImports(t *testing.T) {
	for _, pkg := range listPackages(t) {
		own := strings.TrimPrefix(strings.TrimPrefix(pkg.ImportPath, module), "/")
		top, _, _ := strings.Cut(own, "/")
		allowed, known := mayImport[top]
		if !known {
			t.Errorf("package %s has no row in the import table", own)
		}
		for _, path := range pkg.Imports {
			for library, user := range soleUser {
				if (path == library || strings.HasPrefix(path, library+"/")) && user != top {
					t.Errorf("%s imports %s: only %s may", own, library, user)
				}
			}
			rest, ours := strings.CutPrefix(path, module+"/")
			if !ours {
				continue
			}
			other, _, _ := strings.Cut(rest, "/")
			if other != top && !slices.Contains(allowed, other) {
				t.Errorf("%s imports %s: not in the import table", own, rest)
			}
		}
	}
}

type listed struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}
