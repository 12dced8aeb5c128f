package querylog

import (
	"context"
	"fmt"
	"testing"
)

func TestDumpLab(t *testing.T) {
	for _, sc := range []string{"S1", "S2", "S6", "S7"} {
		for _, f := range []string{"slow.log.gz", "general.log.gz", "slow_log.table.csv.gz", "slow_log.engine.CSV.gz", "general_log.table.csv.gz", "general_log.engine.CSV.gz"} {
			s, err := Summarise(context.Background(), []Source{FileSource("../../shared/lab/" + sc + "/" + f)}, Options{})
			if err != nil && len(s.coverage) > 0 && s.coverage[0].Format == 0 {
				continue
			}
			fmt.Printf("%s %s err=%v classes=%d n=%d\n   %+v\n", sc, f, err, len(s.classes), s.Statements(), s.coverage)
		}
	}
}
