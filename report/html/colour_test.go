package html

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var variable = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6})`)

// schemes are the colours of the style sheet, light and dark.
func schemes() (light, dark map[string]string) {
	light, dark = map[string]string{}, map[string]string{}
	head, rest, _ := strings.Cut(style, "@media screen and (prefers-color-scheme: dark)")
	rest, _, _ = strings.Cut(rest, "* {")
	for _, m := range variable.FindAllStringSubmatch(head, -1) {
		light[m[1]], dark[m[1]] = m[2], m[2]
	}
	for _, m := range variable.FindAllStringSubmatch(rest, -1) {
		dark[m[1]] = m[2]
	}
	return light, dark
}

// luminance and contrast are those of WCAG 2.1.
func luminance(hex string) float64 {
	part := func(s string) float64 {
		n, _ := strconv.ParseUint(s, 16, 8)
		c := float64(n) / 255
		if c <= 0.03928 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(hex[0:2]) + 0.7152*part(hex[2:4]) + 0.0722*part(hex[4:6])
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text is readable by WCAG AA (4.5:1), and so is what is drawn (3:1).
func TestContrast(t *testing.T) {
	light, dark := schemes()
	for name, c := range map[string]map[string]string{"light": light, "dark": dark} {
		check := func(front, back string, least float64) {
			if c[front] == "" || c[back] == "" {
				t.Fatalf("%s: no colour %s or %s", name, front, back)
			}
			if got := contrast(c[front], c[back]); got < least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %v", name, front, back, got, least)
			}
		}
		for _, back := range []string{"bg", "surface", "sunk"} {
			for _, front := range []string{"text", "muted", "accent", "error", "warning", "note", "good", "open"} {
				check(front, back, 4.5)
			}
		}
		for _, tone := range []string{"error", "warning", "note", "good", "open"} {
			check(tone, tone+"-bg", 4.5)
		}
		for _, drawn := range []string{"queries", "expiries", "fires", "events", "teeth", "other", "before", "after"} {
			check(drawn, "surface", 3)
		}
		check("text", "mark", 4.5)
		check("events", "surface", 4.5) // labels
	}
}
