package attribute

import (
	"fmt"
	"strings"
	"time"
)

// dur writes a duration for people: "753 ms", "30.75 s", "60m 1.2s".
func dur(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
	case d < time.Second:
		return fmt.Sprintf("%s%d ms", sign, d.Round(time.Millisecond).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%s%s s", sign, trim(d.Seconds(), 2))
	case d < 2*time.Minute:
		return fmt.Sprintf("%s%s s", sign, trim(d.Seconds(), 1))
	}
	d = d.Round(100 * time.Millisecond)
	whole := d.Truncate(time.Minute)
	text := fmt.Sprintf("%dm", int(whole.Minutes()))
	if h := int(whole.Hours()); h >= 2 {
		text = fmt.Sprintf("%dh", h)
		if m := int(whole.Minutes()) - 60*h; m > 0 {
			text += fmt.Sprintf(" %dm", m)
		}
	}
	if rest := d - whole; rest > 0 {
		text += " " + trim(rest.Seconds(), 1) + "s"
	}
	return sign + text
}

// trim writes a number with at most so many places.
func trim(x float64, places int) string {
	s := fmt.Sprintf("%.*f", places, x)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// plural writes a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// list writes "a, b and 2 more".
func list(names []string, most int) string {
	switch n := len(names); {
	case n > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	case n == 1:
		return names[0]
	}
	return ""
}

// when writes an instant on the wall clock of the evidence.
func (a *analyser) when(t time.Time) string {
	return t.In(a.zone).Format("2006-01-02 15:04:05 MST")
}
