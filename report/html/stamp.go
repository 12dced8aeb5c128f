package html

import (
	"time"

	"github.com/herdscan/herdscan/report"
)

// A stamp is a time as a page shows it: by the document's clock, and in UTC.
type stamp struct {
	t    time.Time
	Text string
	UTC  string
}

func newStamp(t time.Time, c report.Clock) stamp {
	return stamp{t: t, Text: c.Time(t), UTC: t.UTC().Format(time.RFC3339)}
}
