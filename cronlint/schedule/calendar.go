package schedule

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// calendarShorthand holds systemd's words for calendar events (systemd.time(7)).
var calendarShorthand = map[string]string{
	"minutely": "*-*-* *:*:00", "hourly": "*-*-* *:00:00", "daily": "*-*-* 00:00:00",
	"weekly": "Mon *-*-* 00:00:00", "monthly": "*-*-01 00:00:00",
	"quarterly":    "*-01,04,07,10-01 00:00:00",
	"semiannually": "*-01,07-01 00:00:00", "semi-annually": "*-01,07-01 00:00:00",
	"biannually": "*-01,07-01 00:00:00", "bi-annually": "*-01,07-01 00:00:00",
	"yearly": "*-01-01 00:00:00", "annually": "*-01-01 00:00:00", "anually": "*-01-01 00:00:00",
}

// calendarDays are systemd's weekdays, in its order.
var calendarDays = [...]time.Weekday{
	time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday,
}

// calendarParser reads one OnCalendar= value: [weekdays] [date] [time] [zone].
type calendarParser struct {
	s        *Schedule
	words    []token
	fromLast bool // the day counts from the end of the month (~)
}

func parseCalendar(text string) (*Schedule, *ParseError) {
	p := calendarParser{s: &Schedule{Seconds: 1}, words: split(text, 0)}
	if len(p.words) == 0 {
		return nil, errorAt(0, len(text), "the schedule is empty")
	}
	p.cutZone()
	if len(p.words) == 1 {
		if full, ok := calendarShorthand[strings.ToLower(p.words[0].text)]; ok {
			zone := p.s.Zone
			s, err := parseCalendar(full)
			if err == nil {
				s.Nickname, s.Zone, s.Fields = p.words[0].text, zone, nil
			}
			return s, err
		}
	}
	p.s.days = dayRule{months: 0x1ffe, doms: ^uint32(0), dows: 0x7f}
	p.s.Minutes.Add(0)
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.s, nil
}

// cutZone takes the time zone off the end.
func (p *calendarParser) cutZone() {
	last := p.words[len(p.words)-1]
	if len(p.words) < 2 || last.text == "Local" || strings.ContainsAny(last.text, ":*~") || last.text[0] < 'A' {
		return
	}
	if loc, err := time.LoadLocation(last.text); err == nil {
		p.s.Zone, p.words = loc, p.words[:len(p.words)-1]
	}
}

func (p *calendarParser) parse() *ParseError {
	words := p.words
	if c := words[0].text[0]; c >= 'A' && c <= 'z' {
		if err := p.weekdays(words[0]); err != nil {
			return err
		}
		words = words[1:]
	}
	if len(words) > 0 && words[0].text[0] == '@' {
		return p.timestamp(words)
	}
	if len(words) > 0 && !strings.Contains(words[0].text, ":") {
		if err := p.date(words[0]); err != nil {
			return err
		}
		words = words[1:]
	}
	if len(words) > 0 {
		if err := p.time(words[0]); err != nil {
			return err
		}
		words = words[1:]
	}
	if len(words) > 0 {
		return errorAt(words[0].start, words[0].end(), "%q is left over after the time", words[0].text)
	}
	return nil
}

// timestamp reads @seconds: a single moment.
func (p *calendarParser) timestamp(words []token) *ParseError {
	w := words[0]
	n, err := strconv.ParseInt(w.text[1:], 10, 64)
	if err != nil || n < 0 || n > 1<<40 || len(words) > 1 {
		return errorAt(w.start, w.end(), "%q is not a number of seconds since 1970", w.text)
	}
	t := time.Unix(n, 0).UTC()
	p.s.Zone = time.UTC
	p.s.days.date = &civilDay{t.Year(), t.Month(), t.Day()}
	p.s.Minutes = Minutes{}
	p.s.Minutes.Add(t.Hour()*60 + t.Minute())
	p.s.Seconds = 1 << t.Second()
	return nil
}

func (p *calendarParser) weekdays(w token) *ParseError {
	var set uint8
	at := w.start
	items := strings.Split(w.text, ",")
	for i, item := range items {
		if item == "" && i > 0 && i == len(items)-1 {
			break // a trailing comma is allowed
		}
		lo, hi, isRange := strings.Cut(item, "..")
		if !isRange {
			lo, hi, isRange = strings.Cut(item, "-")
		}
		first, ok := calendarWeekday(lo)
		last := first
		if isRange && ok {
			last, ok = calendarWeekday(hi)
		}
		if !ok || last < first {
			return errorAt(at, at+len(item), "%q is not a weekday or a range of weekdays from Mon to Sun", item)
		}
		for d := first; d <= last; d++ {
			set |= 1 << calendarDays[d]
		}
		at += len(item) + 1
	}
	p.s.days.dows = set
	return nil
}

func calendarWeekday(name string) (int, bool) {
	for i, d := range calendarDays {
		if strings.EqualFold(name, shortDays[d]) || strings.EqualFold(name, longDays[d]) {
			return i, true
		}
	}
	return 0, false
}

// date reads [year-]month-day, or with ~ before a day from the end.
func (p *calendarParser) date(w token) *ParseError {
	rest, at := w.text, w.start
	if before, after, ok := strings.Cut(rest, "~"); ok {
		p.fromLast = true
		day, err := p.chain(UnitDom, token{after, at + len(before) + 1})
		if err != nil {
			return err
		}
		p.s.days.doms = 0
		for d := 1; d <= 31; d++ {
			if day.Bits&(1<<d) != 0 {
				p.s.days.fromLast |= 1 << (d - 1)
			}
		}
		rest = before
	} else {
		i := strings.LastIndexByte(rest, '-')
		if i < 0 {
			return errorAt(w.start, w.end(), "%q is neither a date (month-day) nor a time (hour:minute)", w.text)
		}
		day, err := p.chain(UnitDom, token{rest[i+1:], at + i + 1})
		if err != nil {
			return err
		}
		p.s.days.doms = uint32(day.Bits)
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '-'); i >= 0 {
		year, err := p.chain(UnitYear, token{rest[:i], at})
		if err != nil {
			return err
		}
		if !year.Free {
			p.s.days.years = yearRuns(&year)
		}
		rest, at = rest[i+1:], at+i+1
	}
	month, err := p.chain(UnitMonth, token{rest, at})
	p.s.days.months = uint16(month.Bits)
	return err
}

// time reads hour:minute[:second].
func (p *calendarParser) time(w token) *ParseError {
	parts := strings.Split(w.text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return errorAt(w.start, w.end(), "%q is not a time (hour:minute or hour:minute:second)", w.text)
	}
	at := w.start
	var fields [3]Field
	for i, unit := range []Unit{UnitHour, UnitMinute, UnitSecond}[:len(parts)] {
		f, err := p.chain(unit, token{parts[i], at})
		if err != nil {
			return err
		}
		fields[i] = f
		p.s.Fields = append(p.s.Fields, f)
		at += len(parts[i]) + 1
	}
	p.s.Minutes = product(uint32(fields[0].Bits), fields[1].Bits)
	if len(parts) == 3 {
		p.s.Seconds = fields[2].Bits
	}
	return nil
}

// micro is the resolution, steps per second, that systemd gives to seconds.
const micro = 1_000_000

// chain reads a list of start[..stop][/repeat], or *.
func (p *calendarParser) chain(unit Unit, w token) (Field, *ParseError) {
	f := Field{Unit: unit, Start: w.start, End: w.end()}
	if w.text == "*" {
		f.Free, f.Star = true, true
		f.Terms = []Term{{Kind: TermStar, Lo: unitMin[unit], Hi: unitMax[unit], Step: 1, Start: w.start, End: w.end()}}
		if unit != UnitYear {
			f.Bits = allBits(unitMin[unit], unitMax[unit])
		}
		return f, nil
	}
	var parts []component
	at := w.start
	for item := range strings.SplitSeq(w.text, ",") {
		c, err := readComponent(unit, token{item, at})
		if err != nil {
			return f, err
		}
		parts = append(parts, c)
		at += len(item) + 1
	}
	slices.SortStableFunc(parts, func(a, b component) int { return a.start - b.start })
	fromLast := p.fromLast && unit == UnitDom
	for i, c := range slices.Compact(parts) {
		if !c.valid(unit, fromLast, i) {
			return f, errorAt(c.at, c.end, "%s %q is out of range", unit, w.text[c.at-w.start:c.end-w.start])
		}
		c.fill(&f, fromLast)
	}
	return f, nil
}

func allBits(lo, hi int) (set uint64) {
	for v := lo; v <= hi; v++ {
		set |= 1 << v
	}
	return set
}

// component is one start[..stop][/repeat]; seconds are in microseconds.
type component struct {
	start, stop, repeat int // stop is -1, repeat 0 where there is none
	at, end             int // byte range in the text
}

// unitScale is how many steps of a component one value of the unit has.
func unitScale(unit Unit) int {
	if unit == UnitSecond {
		return micro
	}
	return 1
}

func readComponent(unit Unit, w token) (component, *ParseError) {
	c := component{stop: -1, at: w.start, end: w.end()}
	bad := func(why string) (component, *ParseError) {
		return c, errorAt(c.at, c.end, "%s %q %s", unit, w.text, why)
	}
	body, repeat, repeated := strings.Cut(w.text, "/")
	lo, hi, isRange := strings.Cut(body, "..")
	var ok bool
	if c.start, ok = calendarNumber(unit, lo); !ok {
		return bad("is not a number")
	}
	if isRange {
		c.repeat = unitScale(unit)
		if c.stop, ok = calendarNumber(unit, hi); !ok || c.stop < c.start {
			return bad("is not a range")
		}
	}
	if repeated {
		if c.repeat, ok = calendarStep(unit, repeat); !ok || c.repeat == 0 {
			return bad("has a bad step")
		}
	}
	switch {
	case isRange && c.start+c.repeat > c.stop:
		c.stop, c.repeat = -1, 0 // nothing but the start fits
	case isRange:
		c.stop -= (c.stop - c.start) % c.repeat
	}
	return c, nil
}

// valid follows chain_valid of systemd's calendarspec.c. Counted from the end
// of a month, the greatest day allowed shrinks by three with every element of
// the list (index), which is how systemd 252 behaves.
func (c component) valid(unit Unit, fromLast bool, index int) bool {
	scale := unitScale(unit)
	from, to := unitMin[unit]*scale, (unitMax[unit]+1)*scale-1
	if fromLast {
		to -= 3 * (index + 1)
	}
	switch {
	case c.start < from || c.start > to || c.repeat > to-from:
		return false
	case c.stop >= 0:
		return c.stop <= to
	case fromLast:
		return c.start-c.repeat >= from
	}
	return c.start+c.repeat <= to
}

// fill adds the component's values to the field.
func (c component) fill(f *Field, fromLast bool) {
	scale := unitScale(f.Unit)
	first, last, step := c.start, c.start, max(1, c.repeat)
	switch {
	case c.repeat == 0:
	case c.stop >= 0:
		last = c.stop
	case fromLast: // the repetition runs towards the end of the month
		first = c.start - (c.start-unitMin[f.Unit])/c.repeat*c.repeat
	default:
		last = (unitMax[f.Unit]+1)*scale - 1
	}
	if f.Unit != UnitYear {
		for v := first; v <= last; v += step {
			f.Bits |= 1 << (v / scale)
		}
	}
	kind := TermRange
	if c.repeat == 0 {
		kind = TermValue
	}
	f.Terms = append(f.Terms, Term{
		Kind: kind, Lo: first / scale, Hi: last / scale, Step: max(1, c.repeat/scale), Start: c.at, End: c.end,
	})
}

// calendarNumber reads a number of a unit; seconds come back in microseconds,
// two-digit years as 1970 to 2069.
func calendarNumber(unit Unit, text string) (int, bool) {
	if unit == UnitSecond {
		return microseconds(text)
	}
	n, ok := decimal(text)
	if unit == UnitYear && ok {
		switch {
		case n < 70:
			n += 2000
		case n < 100:
			n += 1900
		}
	}
	return n, ok
}

func calendarStep(unit Unit, text string) (int, bool) {
	if unit == UnitSecond {
		return microseconds(text)
	}
	return decimal(text)
}

func microseconds(text string) (int, bool) {
	whole, frac, dotted := strings.Cut(text, ".")
	n, ok := decimal(whole)
	if !ok || !dotted {
		return n * micro, ok
	}
	f, ok := decimal((frac + "000000")[:6])
	return n*micro + f, ok && frac != ""
}

func decimal(text string) (int, bool) {
	if text == "" || len(text) > 7 || strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }) >= 0 {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}
