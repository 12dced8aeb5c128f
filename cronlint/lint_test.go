package cronlint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// lintText lints one file from memory.
func lintText(t *testing.T, name, text string, o lint.Options) *Result {
	t.Helper()
	o.Stdin, o.StdinName = strings.NewReader(text), name
	if o.Now.IsZero() {
		o.Now = fixedNow
	}
	res, err := Lint(context.Background(), []string{"-"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// brief says the active problems as "line rule severity".
func brief(res *Result) []string {
	var out []string
	for _, p := range res.Problems {
		if p.Active() {
			out = append(out, fmt.Sprintf("%d %s %s", p.Line, p.Rule.ID, p.Severity))
		}
	}
	return out
}

// A textCase is a file and what is found in it.
type textCase struct {
	name, file, text string
	optIn            string
	want             []string // "line rule severity"
}

func runTextCases(t *testing.T, tests []textCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := lintText(t, tt.file, tt.text, lint.Options{OptIn: []string{tt.optIn}})
			for _, e := range res.Errors {
				t.Error(e)
			}
			if res.Files.Recognised == 0 {
				t.Errorf("not recognised: %v", res.Skipped)
			}
			if got := brief(res); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
				for _, p := range res.Problems {
					t.Log(p.Location, p.Rule.ID, p.Message)
				}
			}
		})
	}
}
