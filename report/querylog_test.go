package report

import (
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/querylog"
)

// TestQuietVerdict wants "no herd" to say what it can't exclude.
func TestQuietVerdict(t *testing.T) {
	from := time.Date(2026, 3, 24, 6, 0, 0, 0, time.UTC)
	a := &querylog.Analysis{
		From: from, To: from.Add(40 * time.Minute), Statements: 1200,
		Coverage: []querylog.Coverage{{Source: "slow.log", Read: 5000, Complete: true}},
	}
	verdict := func() string {
		return (&QueryLog{Summary: &querylog.Summary{}, Analysis: a}).Document(Clock{}).Verdict
	}
	if got, want := verdict(), "no herd found in 1,200 statements over 40m; a period above 10m has fewer than 4 teeth in it and can't be seen"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
	a.Coverage[0].Complete = false
	if got := verdict(); strings.Contains(got, "no herd") {
		t.Errorf("an all-clear for a part: %q", got)
	}
}

// TestPartLine wants a finding that is a part of another to say so once.
func TestPartLine(t *testing.T) {
	tests := []struct {
		f    querylog.Finding
		want string
	}{
		{querylog.Finding{Rule: "HS502"}, ""},
		{querylog.Finding{Rule: "HS502", PartOf: "x", PartOfRule: "HS501", Reason: "the copies are the teeth of the herd that HS501 tells"}, ""},
		{querylog.Finding{Rule: "HS502", PartOf: "x", PartOfRule: "HS501"}, "It is a part of the herd told under HS501."},
		{querylog.Finding{Rule: "HS503", PartOf: "x", PartOfRule: "HS501"}, "These are the teeth told under HS501: one herd, seen as a job."},
	}
	for _, tt := range tests {
		if got := partLine(&tt.f); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
		}
	}
}
