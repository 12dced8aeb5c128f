package schedule

import (
	"strings"
	"time"
)

// Parse reads a schedule. The error is a [*ParseError] with the place in text.
func Parse(d Dialect, text string) (*Schedule, error) { return ParseJob(d, text, "") }

// ParseJob is Parse for a job whose full name is known: where the dialect
// makes values from it (Jenkins' H), they are the ones the job will get.
func ParseJob(d Dialect, text, job string) (*Schedule, error) {
	if int(d) >= len(grammars) {
		return nil, errorAt(0, len(text), "unknown dialect")
	}
	s, err := parse(d, text, job)
	if err != nil {
		return nil, err
	}
	s.Dialect, s.Text, s.clock = d, text, grammars[d].clock
	return s, nil
}

func parse(d Dialect, text, job string) (*Schedule, *ParseError) {
	switch d {
	case Systemd:
		return parseCalendar(text)
	case EventBridge:
		return parseEventBridge(text)
	case AppEngine, Google:
		if s, err := parseAppEngine(text); err == nil || d == AppEngine {
			return s, err
		}
	}
	p := cronParser{g: &grammars[d]}
	if p.g.hash && job != "" {
		p.hash = newJenkinsHash(job)
	}
	return p.parse(text)
}

// cronParser reads the fields of one cron schedule.
type cronParser struct {
	g    *grammar
	hash *javaRandom
	zone *time.Location
}

// token is a word of the text with its place.
type token struct {
	text  string
	start int
}

func (t token) end() int { return t.start + len(t.text) }

// split cuts text at spaces and tabs.
func split(text string, base int) (words []token) {
	start := -1
	for i := 0; i <= len(text); i++ {
		blank := i == len(text) || text[i] == ' ' || text[i] == '\t'
		switch {
		case blank && start >= 0:
			words = append(words, token{text[start:i], base + start})
			start = -1
		case !blank && start < 0:
			start = i
		}
	}
	return words
}

func (p *cronParser) parse(text string) (*Schedule, *ParseError) {
	words, err := p.cutZone(split(text, 0))
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, errorAt(0, len(text), "the schedule is empty")
	}
	if strings.HasPrefix(words[0].text, "@") {
		return p.nickname(words, text)
	}
	return p.fields(words)
}

// cutZone takes the time zone off the fields, where the dialect has one.
func (p *cronParser) cutZone(words []token) ([]token, *ParseError) {
	if len(words) == 0 {
		return words, nil
	}
	first, last := words[0], words[len(words)-1]
	name, at, rest := "", 0, words
	if z, ok := zoneAssignment(first.text); ok && p.g.zone {
		name, at, rest = z, first.end()-len(z), words[1:]
	} else if p.g.zoneAfter && len(words) > 5 && looksLikeZone(last.text) {
		name, at, rest = last.text, last.start, words[:len(words)-1]
	} else {
		return words, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" {
		return nil, errorAt(at, at+len(name), "unknown time zone %q", name)
	}
	p.zone = loc
	return rest, nil
}

func zoneAssignment(word string) (string, bool) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if z, ok := strings.CutPrefix(word, prefix); ok {
			return z, true
		}
	}
	return "", false
}

func looksLikeZone(word string) bool {
	return strings.Contains(word, "/") && word[0] >= 'A' && word[0] <= 'Z' || word == "UTC" || word == "Z"
}

func (p *cronParser) nickname(words []token, text string) (*Schedule, *ParseError) {
	w := words[0]
	if p.g.every && w.text == "@every" && len(words) == 2 {
		d, err := time.ParseDuration(words[1].text)
		if err != nil {
			return nil, errorAt(words[1].start, words[1].end(), "%q is not a duration such as 1h30m", words[1].text)
		}
		return &Schedule{Interval: max(d.Truncate(time.Second), time.Second)}, nil
	}
	reboot := p.g.reboot && w.text == "@reboot"
	fields, ok := p.g.nicknames[w.text]
	switch {
	case !ok && !reboot:
		return nil, errorAt(w.start, w.end(), "%s is not a nickname it knows", w.text)
	case len(words) > 1:
		return nil, errorAt(words[1].start, len(text), "nothing may follow %s", w.text)
	case reboot:
		return &Schedule{Reboot: true, Nickname: w.text}, nil
	}
	s, err := p.fields(split(fields, 0))
	if err != nil {
		return nil, errorAt(w.start, w.end(), "%s", err.Msg)
	}
	s.Nickname, s.Fields = w.text, nil
	s.fixedTime = w.text != "@hourly" // cronie and Debian set the hour's star flag
	return s, nil
}

func (p *cronParser) fields(words []token) (*Schedule, *ParseError) {
	layout, err := p.layout(words)
	if err != nil {
		return nil, err
	}
	s := &Schedule{Zone: p.zone, Seconds: 1}
	for i, unit := range layout {
		fp := fieldParser{g: p.g, unit: unit, base: words[i].start, hash: p.hash}
		f, err := fp.parse(words[i].text)
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, f)
	}
	return s, p.combine(s)
}

func (p *cronParser) layout(words []token) ([]Unit, *ParseError) {
	most := 0
	for _, layout := range p.g.layouts {
		if len(layout) == len(words) {
			return layout, nil
		}
		most = max(most, len(layout))
	}
	least := len(p.g.layouts[0])
	last := words[len(words)-1]
	switch {
	case len(words) > most:
		return nil, errorAt(words[most].start, last.end(), "%d fields instead of %d", len(words), most)
	default:
		return nil, errorAt(words[0].start, last.end(), "%d fields instead of %d", len(words), least)
	}
}

// combine makes the sets of days, minutes and seconds from the fields.
func (p *cronParser) combine(s *Schedule) *ParseError {
	minute, hour := s.Field(UnitMinute), s.Field(UnitHour)
	dom, month, dow := s.Field(UnitDom), s.Field(UnitMonth), s.Field(UnitDow)
	s.Minutes = product(uint32(hour.Bits), minute.Bits)
	if f := s.Field(UnitSecond); f != nil {
		s.Seconds = f.Bits
	}
	s.fixedTime = !minute.Star && !hour.Star
	s.days = dayRule{months: uint16(month.Bits), doms: uint32(dom.Bits), dows: uint8(dow.Bits)}
	s.days.addSpecial(dom, dow)
	if f := s.Field(UnitYear); f != nil && !f.Free {
		s.days.years = yearRuns(f)
	}
	for _, f := range s.Fields {
		for _, t := range f.Terms {
			s.Drawn = s.Drawn || t.Kind == TermRandom || t.Kind == TermHash && p.hash == nil
		}
	}
	return p.combineDays(&s.days, dom, dow)
}

// combineDays applies the dialect's rule for day-of-month and day-of-week.
func (p *cronParser) combineDays(r *dayRule, dom, dow *Field) *ParseError {
	switch p.g.star {
	case starFirst:
		r.either = !dom.Star && !dow.Star
	case starWhole:
		r.either = !dom.Free && !dow.Free
	case starFull:
		r.either = !dom.Free && r.dows != 0x7f
	case starOne:
		if dom.Question == dow.Question {
			return errorAt(dom.Start, dow.End, "exactly one of day-of-month and day-of-week must be ?")
		}
	case starLone:
		if !dom.Free && !dow.Free {
			return errorAt(dom.Start, dow.End, "day-of-month or day-of-week must be *")
		}
	}
	return nil
}

func (r *dayRule) addSpecial(dom, dow *Field) {
	for _, t := range dom.Terms {
		switch t.Kind {
		case TermLast:
			r.fromLast |= 1 << t.Lo
		case TermLastWorkday:
			r.lastWork = true
		case TermWorkday:
			r.workdays |= 1 << t.Lo
		}
	}
	for _, t := range dow.Terms {
		switch t.Kind {
		case TermNth:
			r.nth[t.Lo] |= 1 << t.Nth
		case TermLastDow:
			r.lastDows |= 1 << t.Lo
		}
	}
}

func yearRuns(f *Field) []yearRun {
	runs := make([]yearRun, 0, len(f.Terms))
	for _, t := range f.Terms {
		runs = append(runs, yearRun{t.Lo, t.Hi, t.Step})
	}
	return runs
}

// product is every minute of every hour of the two sets.
func product(hours uint32, minutes uint64) (set Minutes) {
	for h := range 24 {
		if hours&(1<<h) == 0 {
			continue
		}
		for m := range 60 {
			if minutes&(1<<m) != 0 {
				set.Add(h*60 + m)
			}
		}
	}
	return set
}
