package html

import (
	"fmt"

	"github.com/herdscan/herdscan/report"
)

// A heatmap is drawn as a row an hour and a cell a minute; empty minutes are
// not drawn.
type heatmap struct {
	Title, Label string
	Hours        []hourLabel
	Minutes      []hourLabel
	Cells        []cell
}

type cell struct {
	X, Y  int
	Level int // 1..4
	Title string
}

type hourLabel struct {
	At   int
	Text string
}

// Cells are cellSize wide and high, with the labels of the hours to the left.
const cellSize = 10

func heatmaps(h *report.Heatmap) []heatmap {
	if h == nil {
		return nil
	}
	top := 0.0
	for hour := range h.Before {
		for minute := range h.Before[hour] {
			top = max(top, h.Before[hour][minute], h.After[hour][minute])
		}
	}
	all := []heatmap{drawHeatmap(h.Title+", now", h.Unit, &h.Before, top)}
	if h.After != [24][60]float64{} && h.After != h.Before {
		all = append(all, drawHeatmap(h.Title+", after", h.Unit, &h.After, top))
	}
	return all
}

func drawHeatmap(title, unit string, minutes *[24][60]float64, top float64) heatmap {
	m := heatmap{Title: title}
	for hour := 0; hour < 24; hour += 3 {
		m.Hours = append(m.Hours, hourLabel{hour*cellSize + 8, fmt.Sprintf("%02d", hour)})
	}
	for minute := 0; minute < 60; minute += 10 {
		m.Minutes = append(m.Minutes, hourLabel{minute * cellSize, fmt.Sprintf(":%02d", minute)})
	}
	busiest, at := 0.0, ""
	for hour := range minutes {
		for minute, n := range minutes[hour] {
			if n <= 0 {
				continue
			}
			clock := fmt.Sprintf("%02d:%02d", hour, minute)
			if n > busiest {
				busiest, at = n, clock
			}
			m.Cells = append(m.Cells, cell{minute * cellSize, hour * cellSize, level(n, top), clock + "  " + report.Float(n) + " " + unit})
		}
	}
	m.Label = title + ": none"
	if busiest > 0 {
		m.Label = title + ": busiest minute " + at + ", " + report.Float(busiest) + " " + unit
	}
	return m
}

// level is one of four shades.
func level(n, top float64) int {
	return min(1+int(n/top*3.999), 4)
}
