package remedy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// num writes a number of things, rounded up, with thousands separated.
func num(x float64) string { return humanize.Comma(int64(math.Ceil(math.Min(x, 1e15) - 1e-6))) }

// rate writes a number with its unit.
func rate(x float64, unit string) string { return num(x) + " " + unit }

// count writes a number with what it counts, given in the plural.
func count(x float64, plural string) string {
	if num(x) != "1" {
		return num(x) + " " + plural
	}
	if s, ok := strings.CutSuffix(plural, "ies"); ok {
		return "1 " + s + "y"
	}
	return "1 " + strings.TrimSuffix(plural, "s")
}

// secs writes a duration in seconds, as programs take it, to three figures
// below 100 s.
func secs(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatFloat(math.Round(float64(d)/1e4)/100, 'f', -1, 64) + " ms"
	}
	if d >= 100*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
}
