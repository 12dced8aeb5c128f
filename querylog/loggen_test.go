package querylog

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestDumpFile(t *testing.T) {
	p := os.Getenv("LOG")
	if p == "" {
		t.Skip()
	}
	t0 := cpuTime()
	s, err := Summarise(context.Background(), []Source{FileSource(p)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t1 := cpuTime()
	a := Analyse(s, AnalyseOptions{})
	fmt.Println("cpu read", t1-t0, "analyse", cpuTime()-t1, a.Statements, a.Classes, s.runs.evicted)
	for _, f := range a.Findings {
		p := "-"
		if f.Comb != nil {
			p = fmt.Sprintf("P=%v %v teeth=%d H=%.0f anchor=%v", round(f.Comb.Period), f.Comb.Lock, len(f.Comb.Teeth), f.Comb.Height, f.Comb.Anchor.Format(time.TimeOnly))
		}
		at := ""
		if len(f.Teeth) > 0 {
			at = fmt.Sprintf("+%.0fs w=%v n=%d", f.Teeth[0].At.Sub(a.From).Seconds(), f.Teeth[0].Width, f.Teeth[0].Count)
		}
		fmt.Printf("%v %s %-44.44s n=%d mem=%d %s first %s hosts=%d conns=%d ident=%.2f atonce=%d sec=%d avoid=%d rate=%.2f (%s)\n", f.Severity, f.Rule, f.Subject, f.Count, len(f.Members), p, at, f.HostsATooth, f.ConnsATooth, f.Identical, f.AtOnce, f.Second, f.Avoidable, f.Rate, f.Reason)
		for _, c := range f.Causes {
			fmt.Printf("       %s %.2f %s\n", c.Kind, c.Score, c.Why)
		}
		if f.Fix.Effect != nil {
			fmt.Printf("       fix %s  %.0f -> %.0f\n", f.Fix.Text, f.Fix.Effect.PeakBefore, f.Fix.Effect.PeakAfter)
		}
	}
}
