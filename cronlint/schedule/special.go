package schedule

import (
	"strconv"
	"strings"
)

// specialTerm reads the terms of the Quartz family: L, L-3, LW, 15W, 5L, 5#3.
// It reports whether item is one of them.
func (p *fieldParser) specialTerm(item string, t *Term) (bool, *ParseError) {
	switch p.unit {
	case UnitDom:
		return p.specialDom(upper(item), t)
	case UnitDow:
		return p.specialDow(item, t)
	}
	return false, nil
}

func (p *fieldParser) specialDom(item string, t *Term) (bool, *ParseError) {
	switch {
	case item == "L":
		t.Kind = TermLast
	case item == "LW":
		t.Kind = TermLastWorkday
	case strings.HasPrefix(item, "L-"):
		n, err := strconv.Atoi(item[2:])
		if err != nil || n < 0 || n > 30 {
			return true, errorAt(t.Start, t.End, "%q is not a number of days before the last of the month (0-30)", item[2:])
		}
		t.Kind, t.Lo = TermLast, n
	case strings.HasSuffix(item, "W"):
		v, err := p.value(strings.TrimSuffix(item, "W"), t.Start)
		if err != nil {
			return true, err
		}
		t.Kind, t.Lo, t.Hi = TermWorkday, v, v
	default:
		return false, nil
	}
	return true, nil
}

func (p *fieldParser) specialDow(item string, t *Term) (bool, *ParseError) {
	if day, nth, ok := strings.Cut(item, "#"); ok {
		v, err := p.value(day, t.Start)
		if err != nil {
			return true, err
		}
		n, convErr := strconv.Atoi(nth)
		if convErr != nil || n < 1 || n > 5 {
			return true, errorAt(t.Start+len(day)+1, t.End, "%q is not a week of the month (1-5)", nth)
		}
		t.Kind, t.Lo, t.Hi, t.Nth = TermNth, v%7, v%7, n
		return true, nil
	}
	last, ok := strings.CutSuffix(upper(item), "L")
	if !ok {
		return false, nil
	}
	if last == "" {
		t.Kind, t.Lo, t.Hi = TermValue, 6, 6 // L alone is Saturday
		return true, nil
	}
	v, err := p.value(last, t.Start)
	if err != nil {
		return true, err
	}
	t.Kind, t.Lo, t.Hi = TermLastDow, v%7, v%7
	return true, nil
}

// upper changes ASCII letters only, so that what is wrong keeps its length and
// with it its place in the text.
func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}
