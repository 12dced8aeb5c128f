package schedule

import "time"

// A Part is some days of a year crossed with some minutes of the day, both in
// UTC. It fires at each of those minutes on each of those days.
type Part struct {
	Days    Days
	Minutes Minutes
}

// A Year holds the fires of one schedule in one year of UTC, to the minute. No
// minute is in two of its parts.
type Year struct {
	Year  int
	Parts []Part
}

// Year returns the fires in a year of UTC. A schedule without a zone of its
// own is read in zone. A schedule without changes of the clocks has at most
// two parts; each change adds up to five.
func (s *Schedule) Year(year int, zone *time.Location) Year {
	b := yearBuilder{s: s, zone: s.location(zone), year: year, index: map[partKey]int{}}
	if s.WallClock() {
		b.days = s.Days(year)
		b.build()
	}
	return Year{Year: year, Parts: b.parts}
}

// partKey names a set of minutes of a UTC day: those of the local day, of the
// day before it (-1) or after it (1) that are on it under one offset; or, for
// a day on which the clocks change, the day itself.
type partKey struct {
	offset int
	day    int
	odd    int // day of the year + 1 where the clocks change
}

type yearBuilder struct {
	s     *Schedule
	zone  *time.Location
	year  int
	days  Days // of the schedule, in the year
	parts []Part
	index map[partKey]int // into parts
}

// build goes through the year from one change of the clocks to the next.
func (b *yearBuilder) build() {
	jan1 := time.Date(b.year, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	length := yearLength(b.year)
	for d := 0; d < length; {
		offset, steady := b.steady(jan1 + int64(d)*daySeconds)
		if steady == 0 {
			b.odd(d, jan1+int64(d)*daySeconds)
			d++
			continue
		}
		end := min(length, d+steady)
		b.stretch(d, end, offset)
		d = end
	}
}

// steady returns the zone's offset in minutes on a UTC day, and on how many
// days from this one on the clocks stay as they are, as they do on the days
// beside them; 0 if they change, or if the offset is no whole minute.
func (b *yearBuilder) steady(midnight int64) (offset, days int) {
	t := time.Unix(midnight, 0).In(b.zone)
	_, seconds := t.Zone()
	start, end := t.ZoneBounds()
	if seconds%60 != 0 || !start.IsZero() && start.Unix() > midnight-daySeconds {
		return 0, 0
	}
	days = 366
	if !end.IsZero() {
		days = min(days, max(0, int((end.Unix()-midnight)/daySeconds)-1))
	}
	return seconds / 60, days
}

// stretch adds the UTC days from start to before end, all under one offset.
func (b *yearBuilder) stretch(start, end, offset int) {
	for day, minutes := range b.minutes(offset) {
		if minutes.Count() == 0 {
			continue
		}
		days := b.local(day - 1)
		d := days.Next(start)
		if d < 0 || d >= end {
			continue
		}
		part := b.part(partKey{offset: offset, day: day - 1}, minutes)
		for ; d >= 0 && d < end; d = days.Next(d + 1) {
			part.Days.Add(d)
		}
	}
}

func (b *yearBuilder) part(key partKey, minutes Minutes) *Part {
	at, ok := b.index[key]
	if !ok {
		at = len(b.parts)
		b.index[key] = at
		b.parts = append(b.parts, Part{Minutes: minutes})
	}
	return &b.parts[at]
}

// local returns the days of the year whose local day (0), the one before it
// (-1) or after it (1) is a day of the schedule.
func (b *yearBuilder) local(shift int) (days Days) {
	if shift == 0 {
		return b.days
	}
	length := yearLength(b.year)
	for d := b.days.Next(0); d >= 0; d = b.days.Next(d + 1) {
		if at := d - shift; at >= 0 && at < length {
			days.Add(at)
		}
	}
	edge, last := b.s.Days(b.year+shift), yearLength(b.year-1)-1
	switch {
	case shift < 0 && edge.Has(last):
		days.Add(0)
	case shift > 0 && edge.Has(0):
		days.Add(length - 1)
	}
	return days
}

// minutes maps the minutes of the local day before, the same and the one after
// to the minutes of a UTC day.
func (b *yearBuilder) minutes(offset int) (sets [3]Minutes) {
	for m := b.s.Minutes.Next(0); m >= 0; m = b.s.Minutes.Next(m + 1) {
		switch utc := m - offset; {
		case utc >= minutesPerDay:
			sets[0].Add(utc - minutesPerDay)
		case utc < 0:
			sets[2].Add(utc + minutesPerDay)
		default:
			sets[1].Add(utc)
		}
	}
	return sets
}

// odd adds a UTC day near a change of the clocks, fire by fire.
func (b *yearBuilder) odd(d int, midnight int64) {
	var minutes Minutes
	for at := range b.s.unix(midnight, midnight+daySeconds-1, b.zone) {
		minutes.Add(int(at-midnight) / 60)
	}
	if minutes.Count() > 0 {
		b.part(partKey{odd: d + 1}, minutes).Days.Add(d)
	}
}

// Count is the number of minutes of the year that the schedule fires in.
func (y *Year) Count() (n int) {
	for i := range y.Parts {
		n += y.Parts[i].Days.Count() * y.Parts[i].Minutes.Count()
	}
	return n
}

// Intersect returns the minutes that are in both years. The two must be of the
// same year.
func (y *Year) Intersect(o *Year) Year {
	both := Year{Year: y.Year}
	for i := range y.Parts {
		for j := range o.Parts {
			a, b := &y.Parts[i], &o.Parts[j]
			p := Part{Days: a.Days.And(&b.Days)}
			if p.Days.Count() == 0 {
				continue
			}
			p.Minutes = a.Minutes.And(&b.Minutes)
			if p.Minutes.Count() > 0 {
				both.Parts = append(both.Parts, p)
			}
		}
	}
	return both
}

// First returns the first minute of the year that is after from, or the zero time.
func (y *Year) First(from time.Time) (first time.Time) {
	jan1 := time.Date(y.Year, time.January, 1, 0, 0, 0, 0, time.UTC)
	for i := range y.Parts {
		p := &y.Parts[i]
		for d := p.Days.Next(max(0, int(from.Sub(jan1)/(24*time.Hour)))); d >= 0; d = p.Days.Next(d + 1) {
			if t, ok := p.after(jan1.AddDate(0, 0, d), from); ok {
				if first.IsZero() || t.Before(first) {
					first = t
				}
				break
			}
		}
	}
	return first
}

// after returns the part's first minute after from on the day of midnight.
func (p *Part) after(midnight, from time.Time) (time.Time, bool) {
	for m := p.Minutes.Next(0); m >= 0; m = p.Minutes.Next(m + 1) {
		if t := midnight.Add(time.Duration(m) * time.Minute); t.After(from) {
			return t, true
		}
	}
	return time.Time{}, false
}
