package report

import (
	"fmt"
	"strings"
	"testing"
)

func TestFoldCoverage(t *testing.T) {
	var cs []Coverage
	for i := range 200 {
		cs = append(cs, Coverage{Source: fmt.Sprint("s", i), Unit: "records", Read: 10, Complete: true})
	}
	cs[150].Errors = []string{"no such file"}
	shown, rest := foldCoverage(cs)
	if len(shown) != mostSources/2+1 || shown[len(shown)-1].Source != "s150" {
		t.Errorf("%d sources are listed, the last %s", len(shown), shown[len(shown)-1].Source)
	}
	if want := "193 sources more, read whole: 1,930 records"; !strings.Contains(rest, want) {
		t.Errorf("%q lacks %q", rest, want)
	}
	if shown, rest = foldCoverage(cs[:12]); len(shown) != 12 || rest != "" {
		t.Errorf("12 sources are folded: %d, %q", len(shown), rest)
	}
}
