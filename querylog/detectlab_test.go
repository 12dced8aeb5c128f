package querylog

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb"
)

func TestDumpDetect(t *testing.T) {
	list := strings.Fields(os.Getenv("SC"))
	if len(list) == 0 {
		list = []string{"S1", "S1b", "S2", "S2b", "S2c", "S2d", "S3", "S3b", "S4", "S4b", "S5", "S5b", "S6", "S6b", "S7", "S7b", "S9", "S10"}
	}
	for _, sc := range list {
		for _, f := range []string{"slow.log.gz", "general.log.gz"} {
			s, err := Summarise(context.Background(), []Source{FileSource("../../shared/lab/" + sc + "/" + f)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var named []comb.Named
			var cl []*class
			bin := comb.FineBin
			if !s.fine {
				bin = time.Second
			}
			for _, c := range s.classes {
				se := comb.NewSeries(bin)
				for _, x := range c.starts.list {
					se.Add(x.at(), x.n())
				}
				named = append(named, comb.Named{Name: c.shape, Series: se, Follower: c.follower})
				cl = append(cl, c)
			}
			from, to := s.Span()
			each, fam := comb.DetectFamilies(named, comb.Options{From: from, To: to, Tried: len(named)})
			if len(fam) == 0 {
				for i := range named {
					each[i] = comb.Detect(named[i].Series, comb.Options{From: from, To: to, Tried: len(named)})
				}
			}
			fmt.Println("=====", sc, f)
			for i, r := range each {
				for _, c := range r.Combs {
					fmt.Printf("  own  %-60.60s n=%d P=%v teeth=%d miss=%d H=%.1f w=%v lock=%v share=%.2f logp=%.1f harm=%v fol=%v\n", named[i].Name, cl[i].n, c.Period, len(c.Teeth), c.Missing, c.Height, c.Width, c.Lock, c.Share, c.LogP, c.Harm, cl[i].follower)
				}
				for _, c := range r.Spikes {
					fmt.Printf("  spike %-60.60s n=%d at=%v w=%v N=%d logp=%.1f\n", named[i].Name, cl[i].n, c.At, c.Width, c.Count, c.LogP)
				}
			}
			for _, f := range fam {
				c := f.Comb
				fmt.Printf("  FAM P=%v teeth=%d miss=%d H=%.1f w=%v lock=%v share=%.2f logp=%.1f harm=%v\n", c.Period, len(c.Teeth), c.Missing, c.Height, c.Width, c.Lock, c.Share, c.LogP, c.Harm)
				for _, m := range f.Members {
					fmt.Printf("      %-60.60s %d fol=%v own=%v\n", m.Name, m.Count, m.Follower, m.Own)
				}
			}
		}
	}
}
