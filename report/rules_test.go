package report

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the documents that are made from code")

// docs/rules.md is what "make docs" would write.
func TestRuleReferenceIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	if err := RuleReference(&b); err != nil {
		t.Fatal(err)
	}
	const path = "../docs/rules.md"
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Error("docs/rules.md is not up to date: run make docs")
	}
}

// Every rule can be found in the reference, once.
func TestRuleReferenceIsComplete(t *testing.T) {
	var b bytes.Buffer
	if err := RuleReference(&b); err != nil {
		t.Fatal(err)
	}
	for _, r := range Catalogue() {
		if n := strings.Count(b.String(), "\n## "+r.ID+" "); n != 1 {
			t.Errorf("%s stands %d times in the reference", r.ID, n)
		}
		if ruleFamily(r.ID) == "other" {
			t.Errorf("%s is of no family", r.ID)
		}
	}
}
