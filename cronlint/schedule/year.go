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
// three parts; each change adds two or three.
func (s *Schedule) Year(year int, zone *time.Location) Year {
	b := yearBuilder{s: s, zone: s.location(zone), parts: map[partKey]*Part{}}
	y := Year{Year: year}
	if !s.WallClock() {
		return y
	}
	b.build(year)
	for _, key := range b.order {
		y.Parts = append(y.Parts, *b.parts[key])
	}
	return y
}

// partKey names a set of minutes of a UTC day: those that the day's two local
// days send there, under one offset; or, for a day on which the clocks change,
// the day itself.
type partKey struct {
	offset       int
	before, same bool
	after        bool
	odd          int // day of the year + 1 where the clocks change
}

type yearBuilder struct {
	s     *Schedule
	zone  *time.Location
	parts map[partKey]*Part
	order []partKey
}

func (b *yearBuilder) build(year int) {
	days := [3]Days{b.s.Days(year - 1), b.s.Days(year), b.s.Days(year + 1)}
	before, length := yearLength(year-1), yearLength(year)
	active := func(d int) bool {
		switch {
		case d < 0:
			return days[0].Has(before + d)
		case d >= length:
			return days[2].Has(d - length)
		}
		return days[1].Has(d)
	}
	jan1 := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	for d := range length {
		midnight := jan1 + int64(d)*daySeconds
		offset, steady := b.offset(midnight)
		if !steady {
			b.odd(d, midnight)
			continue
		}
		key := partKey{offset: offset, before: active(d - 1), same: active(d), after: active(d + 1)}
		b.add(d, key)
	}
}

// offset returns the zone's offset in minutes during a UTC day, and whether
// the clocks stay as they are on that day and the ones beside it.
func (b *yearBuilder) offset(midnight int64) (int, bool) {
	t := time.Unix(midnight, 0).In(b.zone)
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	steady := (start.IsZero() || start.Unix() <= midnight-daySeconds) &&
		(end.IsZero() || end.Unix() >= midnight+2*daySeconds) && offset%60 == 0
	return offset / 60, steady
}

func (b *yearBuilder) add(d int, key partKey) {
	if !key.before && !key.same && !key.after {
		return
	}
	p, ok := b.parts[key]
	if !ok {
		p = &Part{Minutes: b.minutes(key)}
		b.parts[key] = p
		if p.Minutes.Count() > 0 {
			b.order = append(b.order, key)
		}
	}
	p.Days.Add(d)
}

// minutes maps the local minutes of the active days to minutes of a UTC day.
func (b *yearBuilder) minutes(key partKey) (set Minutes) {
	for m := b.s.Minutes.Next(0); m >= 0; m = b.s.Minutes.Next(m + 1) {
		utc := m - key.offset
		switch {
		case utc >= minutesPerDay && key.before:
			set.Add(utc - minutesPerDay)
		case utc < 0 && key.after:
			set.Add(utc + minutesPerDay)
		case utc >= 0 && utc < minutesPerDay && key.same:
			set.Add(utc)
		}
	}
	return set
}

// odd adds a UTC day near a change of the clocks, fire by fire.
func (b *yearBuilder) odd(d int, midnight int64) {
	p := &Part{}
	for at := range b.s.unix(midnight, midnight+daySeconds-1, b.zone) {
		p.Minutes.Add(int(at-midnight) / 60)
	}
	if p.Minutes.Count() == 0 {
		return
	}
	p.Days.Add(d)
	key := partKey{odd: d + 1}
	b.parts[key] = p
	b.order = append(b.order, key)
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
