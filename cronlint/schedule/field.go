package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// A TermKind says what one element of a field's list is.
type TermKind uint8

// The kinds of terms.
const (
	TermValue       TermKind = iota // 5
	TermRange                       // 1-5, 1-5/2, 5/15
	TermStar                        // *, ?, */2
	TermHash                        // H, H(0-7), H/15: a value made from the job's name
	TermRandom                      // 0~59: a value drawn when the table is loaded
	TermLast                        // L, L-3: Lo days before the last of the month
	TermLastWorkday                 // LW
	TermWorkday                     // 15W
	TermNth                         // 5#3: the Nth weekday Lo of the month
	TermLastDow                     // 5L: the last weekday Lo of the month
)

// A Term is one element of a field's list.
type Term struct {
	Kind       TermKind
	Lo, Hi     int // least and greatest value; weekdays count from Sunday = 0
	Step       int // 1 where none is written
	Nth        int // of TermNth, 1 to 5
	Start, End int // byte range in the schedule's text
}

// A Field is one field of a cron schedule.
type Field struct {
	Unit       Unit
	Terms      []Term
	Bits       uint64 // the values it holds; not of years
	Star       bool   // it begins with * or ?
	Free       bool   // it holds every value, written as a plain star
	Question   bool   // it is a plain ?
	Start, End int    // byte range in the schedule's text
}

// A ParseError says what is wrong with a schedule, and where.
type ParseError struct {
	Start, End int // byte range in the schedule's text
	Msg        string
}

func (e *ParseError) Error() string { return e.Msg }

func errorAt(start, end int, format string, args ...any) *ParseError {
	return &ParseError{Start: start, End: end, Msg: fmt.Sprintf(format, args...)}
}

// limits of the units; the weekday's upper limit depends on the dialect.
var (
	unitMin = [...]int{0, 0, 0, 1, 1, 0, firstYear}
	unitMax = [...]int{59, 59, 23, 31, 12, 6, lastYear}
)

var (
	shortDays = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	longDays  = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

var (
	shortMonths = [...]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	longMonths  = [...]string{
		"january", "february", "march", "april", "may", "june",
		"july", "august", "september", "october", "november", "december",
	}
)

// fieldParser reads one field of one dialect.
type fieldParser struct {
	g    *grammar
	unit Unit
	base int // offset of the field in the schedule's text
	hash *javaRandom
}

func (p *fieldParser) min() int { return unitMin[p.unit] }

func (p *fieldParser) max() int {
	if p.unit == UnitDow && p.g.seven {
		return 7
	}
	return unitMax[p.unit]
}

func (p *fieldParser) parse(text string) (Field, *ParseError) {
	f := Field{Unit: p.unit, Start: p.base, End: p.base + len(text)}
	f.Star = strings.HasPrefix(text, "*") || p.g.question && strings.HasPrefix(text, "?")
	f.Question = text == "?"
	at := 0
	for item := range strings.SplitSeq(text, ",") {
		t, err := p.term(item, p.base+at)
		if err != nil {
			return f, err
		}
		f.Terms = append(f.Terms, t)
		at += len(item) + 1
	}
	for _, t := range f.Terms {
		f.Bits |= p.values(t)
		f.Free = f.Free || t.Kind == TermStar && t.Step == 1 && (!p.g.bareStar || t.End-t.Start == 1)
	}
	return f, nil
}

func (p *fieldParser) term(item string, at int) (Term, *ParseError) {
	t := Term{Step: 1, Start: at, End: at + len(item)}
	if item == "" {
		return t, errorAt(at, at, "empty element in the %s field", p.unit)
	}
	if p.g.special {
		if done, err := p.specialTerm(item, &t); done || err != nil {
			return t, err
		}
	}
	body, step, stepped := strings.Cut(item, "/")
	if err := p.body(body, &t); err != nil {
		return t, err
	}
	if !stepped {
		return t, nil
	}
	return t, p.step(step, &t)
}

// body reads the part of a term before the slash.
func (p *fieldParser) body(body string, t *Term) *ParseError {
	switch {
	case body == "*" || body == "?" && p.g.question:
		t.Kind, t.Lo, t.Hi = TermStar, p.min(), unitMax[p.unit]
		if p.unit == UnitDom && p.g.domZero {
			t.Lo = 0
		}
		return nil
	case p.g.hash && strings.HasPrefix(body, "H"):
		return p.hashBody(body[1:], t)
	case p.g.tilde && strings.Contains(body, "~"):
		return p.tildeBody(body, t)
	}
	lo, hi, isRange := strings.Cut(body, "-")
	switch {
	case body == "":
		return errorAt(t.Start, t.End, "nothing stands before the step in the %s field", p.unit)
	case isRange && (lo == "" || hi == ""):
		return errorAt(t.Start, t.End, "%q is no range of the %s field: one end is missing", body, p.unit)
	}
	v, err := p.value(lo, t.Start)
	if err != nil {
		return err
	}
	t.Kind, t.Lo, t.Hi = TermValue, v, v
	if !isRange {
		return nil
	}
	t.Kind = TermRange
	if t.Hi, err = p.value(hi, t.Start+len(lo)+1); err != nil {
		return err
	}
	if p.unit == UnitDow {
		p.endOfWeek(hi, t)
	}
	if t.Lo > t.Hi && p.g.reversed == reversedRejected {
		return errorAt(t.Start, t.End, "%s range %s runs backwards", p.unit, body)
	}
	return nil
}

// endOfWeek bends the end of a weekday range the way the dialect does.
func (p *fieldParser) endOfWeek(hi string, t *Term) {
	switch {
	case p.g.sundayEnd && strings.EqualFold(hi, "sun") && t.Lo > 0:
		t.Hi = 7
	case p.g.saturday && (t.Hi == 0 || t.Hi == 7):
		t.Hi = 6
		if t.Lo == 7 {
			t.Lo = 0
		}
	}
}

func (p *fieldParser) step(text string, t *Term) *ParseError {
	at := t.End - len(text)
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || text[0] == '+' {
		return errorAt(at, t.End, "step %q of the %s field is not a positive number", text, p.unit)
	}
	if p.g.step == stepBelow && n > unitMax[p.unit] {
		return errorAt(at, t.End, "step %d is greater than the %s field's greatest value, %d", n, p.unit, unitMax[p.unit])
	}
	t.Step = n
	switch t.Kind {
	case TermValue:
		if p.g.oneStep {
			return nil
		}
		if !p.g.openStep {
			return errorAt(t.Start, t.End, "a step needs a range: write %d-%d/%d", t.Lo, unitMax[p.unit], n)
		}
		t.Kind, t.Hi = TermRange, unitMax[p.unit]
	case TermHash:
		if span := t.Hi - t.Lo + 1; n > span {
			return errorAt(at, t.End, "step %d of H is greater than its range of %d values", n, span)
		}
	}
	return nil
}

// value reads a number or a name; weekdays are counted from Sunday = 0.
func (p *fieldParser) value(s string, at int) (int, *ParseError) {
	if v, ok := p.name(s); ok {
		return v, nil
	}
	if s == "" || strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) >= 0 {
		return 0, errorAt(at, at+len(s), "%q is no value of the %s field", s, p.unit)
	}
	lo, hi := p.min(), p.max()
	if p.unit == UnitDow {
		lo, hi = lo+p.g.sunday, hi+p.g.sunday
	}
	v, err := strconv.Atoi(s)
	if err != nil || v < lo || v > hi {
		return 0, errorAt(at, at+len(s), "%s %s is outside %d-%d", p.unit, s, lo, hi)
	}
	if p.unit == UnitDow {
		v -= p.g.sunday
	}
	return v, nil
}

func (p *fieldParser) name(s string) (int, bool) {
	if p.g.noNames || len(s) < 3 {
		return 0, false
	}
	switch p.unit {
	case UnitDow:
		return lookup(s, shortDays[:], longDays[:], p.g.longNames, 0)
	case UnitMonth:
		return lookup(s, shortMonths[:], longMonths[:], p.g.longNames, 1)
	}
	return 0, false
}

func lookup(s string, short, long []string, alsoLong bool, first int) (int, bool) {
	for i := range short {
		if strings.EqualFold(s, short[i]) || alsoLong && strings.EqualFold(s, long[i]) {
			return i + first, true
		}
	}
	return 0, false
}

// tildeBody reads a~b, ~b, a~ or ~.
func (p *fieldParser) tildeBody(body string, t *Term) *ParseError {
	lo, hi, _ := strings.Cut(body, "~")
	t.Kind, t.Lo, t.Hi = TermRandom, p.min(), unitMax[p.unit]
	var err *ParseError
	if lo != "" {
		if t.Lo, err = p.value(lo, t.Start); err != nil {
			return err
		}
	}
	if hi != "" {
		if t.Hi, err = p.value(hi, t.Start+len(lo)+1); err != nil {
			return err
		}
	}
	if t.Lo > t.Hi {
		return errorAt(t.Start, t.End, "%s range %s runs backwards", p.unit, body)
	}
	return nil
}

// values is the set of values a term stands for. A random term holds the least
// value that can be drawn.
func (p *fieldParser) values(t Term) (set uint64) {
	switch t.Kind {
	case TermValue, TermRange, TermStar, TermHash, TermRandom:
	default:
		return 0
	}
	if p.unit == UnitYear {
		return 0
	}
	step := t.Step
	switch {
	case t.Kind == TermHash:
		return p.hashed(t)
	case t.Kind == TermRandom && t.Step == 1:
		return 1 << t.Lo
	case p.g.step == stepModulo && step > t.Hi-t.Lo:
		return 1 << (t.Lo + step%(t.Hi-t.Lo+1))
	case t.Lo > t.Hi && p.g.reversed == reversedWraps:
		return p.wrapped(t)
	}
	for v := t.Lo; v <= t.Hi; v += step {
		set |= 1 << v
	}
	return p.fold(set)
}

// wrapped is the set of a range that runs over the end: 22-2.
func (p *fieldParser) wrapped(t Term) (set uint64) {
	span := unitMax[p.unit] - p.min() + 1
	for v := t.Lo; v <= t.Hi+span; v += t.Step {
		set |= 1 << (p.min() + (v-p.min())%span)
	}
	return p.fold(set)
}

// fold makes weekday 7 Sunday and drops day 0 of the month.
func (p *fieldParser) fold(set uint64) uint64 {
	switch p.unit {
	case UnitDow:
		return (set | set>>7) & 0x7f
	case UnitDom, UnitMonth:
		return set &^ 1
	}
	return set
}
