package report

import (
	"fmt"
	"strconv"
	"strings"
)

// Heatmap says for each hour and minute of the day how much happens in it, now
// and after what is proposed. The text draws what is now.
type Heatmap struct {
	Title  string          `json:"title"`
	Unit   string          `json:"unit"`
	Before [24][60]float64 `json:"before"` // by hour, then minute
	After  [24][60]float64 `json:"after"`
}

// text draws the map: a row an hour, a digit a minute. Hours that follow each
// other and are alike share a row.
func (h *Heatmap) text() string {
	var b strings.Builder
	b.WriteString(h.Title + "\n")
	b.WriteString("hour   :00       :10       :20       :30       :40       :50\n")
	many := false
	for hour := 0; hour < len(h.Before); {
		last := hour
		for last+1 < len(h.Before) && h.Before[last+1] == h.Before[hour] {
			last++
		}
		label := fmt.Sprintf("%02d", hour)
		if last > hour {
			label += fmt.Sprintf("-%02d", last)
		}
		fmt.Fprintf(&b, "%-5s  ", label)
		for _, n := range h.Before[hour] {
			many = many || n >= 9.5
			b.WriteByte(heatCell(n))
		}
		b.WriteByte('\n')
		hour = last + 1
	}
	if many {
		b.WriteString("+ is 10 or more\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func heatCell(n float64) byte {
	switch {
	case n == 0:
		return '.'
	case n >= 9.5:
		return '+'
	default:
		return strconv.Itoa(max(int(n+0.5), 1))[0]
	}
}
