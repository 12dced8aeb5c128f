package querylog

import "time"

// stamp is a time as a log writes it.
type stamp struct {
	ns    int64 // Unix nanoseconds; of the wall clock read as UTC when not zoned
	zoned bool  // the zone was given
	fine  bool  // finer than one second
	n     int   // bytes read, 0 for none
}

// parseStamp reads the time at the start of b, in any form that MySQL,
// MariaDB, Percona and TiDB write:
//
//	261130 18:10:11, 081127  8:51:20, 130601  8:01:06.058915
//	2019-03-24T14:01:47.811234Z, ...+08:00, 2026-11-30 18:10:11.216301
//	2019-03-18-12:10:19.513961 +0800
func parseStamp(b []byte) stamp {
	if len(b) >= 6+1+7 && b[6] == ' ' {
		return parseOldStamp(b)
	}
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[13] != ':' || b[16] != ':' {
		return stamp{}
	}
	if s := b[10]; s != 'T' && s != ' ' && s != '-' {
		return stamp{}
	}
	y, mo, d := num4(b), num2(b[5:]), num2(b[8:])
	h, mi, s := num2(b[11:]), num2(b[14:]), num2(b[17:])
	if !validStamp(y, mo, d, h, mi, s) {
		return stamp{}
	}
	t := stamp{ns: civil(y, mo, d, h, mi, s), n: 19}
	t.fraction(b)
	t.zone(b)
	return t
}

// parseOldStamp reads YYMMDD, blanks, H:MM:SS and an optional fraction.
func parseOldStamp(b []byte) stamp {
	for _, c := range b[:6] {
		if c < '0' || c > '9' {
			return stamp{}
		}
	}
	i := 7
	for i < len(b) && b[i] == ' ' && i < 12 {
		i++
	}
	h, digits := 0, 0
	for i < len(b) && b[i] >= '0' && b[i] <= '9' && digits < 2 {
		h = h*10 + int(b[i]-'0')
		i++
		digits++
	}
	if digits == 0 || i+6 > len(b) || b[i] != ':' || b[i+3] != ':' {
		return stamp{}
	}
	y, mo, d := 2000+num2(b), num2(b[2:]), num2(b[4:])
	mi, s := num2(b[i+1:]), num2(b[i+4:])
	if !validStamp(y, mo, d, h, mi, s) {
		return stamp{}
	}
	t := stamp{ns: civil(y, mo, d, h, mi, s), n: i + 6}
	t.fraction(b)
	return t
}

// validStamp also keeps the year within what a cell can count.
func validStamp(y, mo, d, h, mi, s int) bool {
	return y >= 1970 && y < 2106 && mo >= 1 && mo <= 12 && d >= 1 && d <= 31 &&
		h >= 0 && h <= 23 && mi >= 0 && mi <= 59 && s >= 0 && s <= 60
}

// fraction reads the decimals of a second.
func (t *stamp) fraction(b []byte) {
	if t.n >= len(b) || b[t.n] != '.' {
		return
	}
	if ns, n := parseFraction(b[t.n+1:]); n > 0 {
		t.ns += ns
		t.n += 1 + n
		t.fine = true
	}
}

// zone reads Z, +08:00 or " +0800".
func (t *stamp) zone(b []byte) {
	i := t.n
	if i < len(b) && b[i] == 'Z' {
		t.zoned, t.n = true, i+1
		return
	}
	if i < len(b) && b[i] == ' ' {
		i++
	}
	if i+5 > len(b) || b[i] != '+' && b[i] != '-' {
		return
	}
	h, m, n := num2(b[i+1:]), num2(b[i+3:]), 5
	if b[i+3] == ':' {
		if i+6 > len(b) {
			return
		}
		m, n = num2(b[i+4:]), 6
	}
	if h < 0 || m < 0 {
		return
	}
	off := int64(h*3600+m*60) * int64(time.Second)
	if b[i] == '-' {
		off = -off
	}
	t.ns -= off
	t.zoned, t.n = true, i+n
}

// civil returns Unix nanoseconds of a UTC date and time. The day count is
// Howard Hinnant's days_from_civil.
func civil(y, mo, d, h, mi, s int) int64 {
	if mo <= 2 {
		y--
		mo += 12
	}
	era := y / 400
	yoe := y - era*400
	doy := (153*(mo-3)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	days := int64(era*146097 + doe - 719468)
	return (days*86400 + int64(h*3600+mi*60+s)) * int64(time.Second)
}

// num2 reads two digits, or gives -1.
func num2(b []byte) int {
	if len(b) < 2 {
		return -1
	}
	x, y := b[0]-'0', b[1]-'0'
	if x > 9 || y > 9 {
		return -1
	}
	return int(x)*10 + int(y)
}

func num4(b []byte) int {
	h, l := num2(b), num2(b[2:])
	if h < 0 || l < 0 {
		return -1
	}
	return h*100 + l
}

// zoneClock turns wall-clock stamps without a zone into UTC.
type zoneClock struct {
	zone       *time.Location
	from, to   int64 // wall-clock interval for which off holds
	off        int64
	last       int64 // last result
	ambiguous  bool
	unresolved uint64 // stamps inside a repeated hour that were put in order by guess
}

// utc returns the Unix nanoseconds of a wall-clock time. In the hour that
// daylight saving time repeats, the later reading is taken once time would
// otherwise go back.
func (z *zoneClock) utc(wall int64) int64 {
	if z.zone == nil || z.zone == time.UTC {
		return wall
	}
	if wall < z.from || wall >= z.to {
		z.locate(wall)
	}
	t := wall - z.off
	if z.ambiguous {
		z.unresolved++
		if later := t + int64(time.Hour); t < z.last-int64(10*time.Minute) && later >= z.last-int64(10*time.Minute) {
			t = later
		}
	}
	z.last = max(z.last, t)
	if t < z.last-int64(24*time.Hour) {
		z.last = t
	}
	return t
}

// locate finds the offset for a quarter of an hour of wall-clock time: that
// of the earlier reading when the clock shows the time twice.
func (z *zoneClock) locate(wall int64) {
	const quarter, near = int64(15 * time.Minute), int64(2 * time.Hour)
	z.from = wall - wall%quarter
	z.to = z.from + quarter
	guess := z.offset(wall)
	early, late := z.offset(wall-guess-near), z.offset(wall-guess+near)
	z.off, z.ambiguous = early, false
	if early == late {
		return
	}
	earlyOK := z.offset(wall-early) == early
	lateOK := z.offset(wall-late) == late
	z.ambiguous = earlyOK && lateOK
	if lateOK && !earlyOK {
		z.off = late
	}
}

// offset returns the nanoseconds east of UTC at an instant.
func (z *zoneClock) offset(unix int64) int64 {
	_, off := time.Unix(0, unix).In(z.zone).Zone()
	return int64(off) * int64(time.Second)
}
