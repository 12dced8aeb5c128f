package live

import (
	"slices"
	"time"

	"github.com/herdscan/herdscan/querylog"
)

// placer puts the rows of a log table into their true time. The table holds
// text in the time zone of the session that wrote a row, and is read in the
// server's default zone, so rows of sessions with a zone of their own are off by
// whole quarters of an hour. Rows come in the order of their ends: the
// longest run of rows whose times do not go backwards is believed, and the
// others are placed between their neighbours. Where the table ends in the
// future, sessions with a zone of their own may be the most: then the believed
// rows are moved back by as much. The order of what it emits is that of the
// table, and no more than a few thousand rows are held.
type placer struct {
	now   time.Time     // of the server; zero if unknown
	ahead time.Duration // how far the table reaches beyond now, in quarters
	emit  func(*querylog.Event)

	held  []querylog.Event
	bytes int
	last  time.Time                // end of the last row placed
	zones map[uint64]time.Duration // how far connections are off

	moved   uint64 // rows that were placed between their neighbours
	back    uint64 // of them: rows that lie behind the believed ones by what the table is ahead
	forward uint64 // and rows that lie before them by that
	uniform uint64 // believed rows that were moved
}

// aheadOf says how far the most rows of a table are ahead of the server's now,
// from their number by quarters of an hour from now: 0 unless those in the
// future are about as many as those of as long a time before. Fewer come from
// some sessions only.
func aheadOf(rows map[int]uint64) time.Duration {
	last := 0
	for q := range rows {
		last = max(last, q+1)
	}
	if last < 2 { // no two zones are a quarter apart
		return 0
	}
	var future, past uint64
	for q, n := range rows {
		switch {
		case q >= 0:
			future += n
		case q >= -last:
			past += n
		}
	}
	if 5*future <= 3*past {
		return 0
	}
	return time.Duration(last) * quarter
}

const (
	quarter    = 15 * time.Minute
	mostZone   = 26 * time.Hour // from the most eastern zone to the most western
	heldRows   = 4096
	heldBytes  = 8 << 20
	heldBehind = 512 // rows that are needed to judge those before them
	zonesKept  = 1 << 14
	tolerance  = time.Minute // between clocks, and between the ends of two rows
)

// add takes the next row. The event is not kept.
func (p *placer) add(e *querylog.Event) {
	row := *e
	row.Query = slices.Clone(e.Query)
	p.held = append(p.held, row)
	p.bytes += len(row.Query)
	if len(p.held) >= heldRows || p.bytes >= heldBytes {
		p.place(max(len(p.held)-heldBehind, len(p.held)/2, 1))
	}
}

// finish places what is left.
func (p *placer) finish() { p.place(len(p.held)) }

// place emits the first n rows held.
func (p *placer) place(n int) {
	believed := p.believed()
	for i := range n {
		row := &p.held[i]
		if !believed[i] {
			p.mend(row, p.nextBelieved(believed, i))
		}
		if end := endOf(row); end.After(p.last) {
			p.last = end
		}
	}
	for i := range n {
		row := &p.held[i]
		p.bytes -= len(row.Query)
		if p.ahead > 0 && p.back >= p.forward {
			row.Time = row.Time.Add(-p.ahead)
			p.uniform++
		}
		p.emit(row)
	}
	p.held = append(p.held[:0], p.held[n:]...)
}

func endOf(e *querylog.Event) time.Time { return e.Time.Add(e.Duration) }

// believed finds the longest run of rows whose ends do not go backwards
// (Fredman 1975), among those that are neither before what was placed already
// nor in the future.
func (p *placer) believed() []bool {
	var tails []int // the last row of the best run of each length
	before := make([]int, len(p.held))
	for i := range p.held {
		end := endOf(&p.held[i])
		if end.Before(p.last.Add(-tolerance)) || !p.now.IsZero() && end.After(p.now.Add(p.ahead+tolerance)) {
			continue
		}
		at, _ := slices.BinarySearchFunc(tails, end, func(t int, end time.Time) int {
			if endOf(&p.held[t]).After(end) {
				return 1
			}
			return -1
		})
		before[i] = -1
		if at > 0 {
			before[i] = tails[at-1]
		}
		if at == len(tails) {
			tails = append(tails, i)
		} else {
			tails[at] = i
		}
	}
	out := make([]bool, len(p.held))
	if len(tails) == 0 {
		return out
	}
	for i := tails[len(tails)-1]; i >= 0; i = before[i] {
		out[i] = true
	}
	p.disbelieve(out)
	return out
}

// disbelieve takes out rows of connections of which hardly any is believed:
// at its ends a run takes in what is off.
func (p *placer) disbelieve(believed []bool) {
	const enough, few = 8, 0.1
	all, good := map[uint64]int{}, map[uint64]int{}
	for i := range p.held {
		id := p.held[i].ThreadID
		all[id]++
		if believed[i] {
			good[id]++
		}
	}
	for i := range p.held {
		if id := p.held[i].ThreadID; all[id] >= enough && float64(good[id]) < few*float64(all[id]) {
			believed[i] = false
		}
	}
}

// nextBelieved returns the end of the first believed row after i, or the
// latest time there can be.
func (p *placer) nextBelieved(believed []bool, i int) time.Time {
	for k := i + 1; k < len(p.held); k++ {
		if believed[k] {
			return endOf(&p.held[k])
		}
	}
	if p.now.IsZero() {
		return p.now
	}
	return p.now.Add(p.ahead)
}

// mend moves a row between its neighbours: by as much as the rows of its
// connection were off before, else by the least number of quarters that brings
// it behind the row before, or to the row before when no zone can explain it.
func (p *placer) mend(row *querylog.Event, next time.Time) {
	end := endOf(row)
	after := p.last
	if after.IsZero() {
		after = next // the first row: as near to the next as can be
	}
	if after.IsZero() {
		return
	}
	shift := after.Sub(end).Round(quarter)
	if known, ok := p.zones[row.ThreadID]; ok && p.fits(end.Add(known), next) {
		shift = known
	} else if at := end.Add(shift); !p.fits(at, next) && p.fits(at.Add(quarter), next) {
		shift += quarter
	}
	switch {
	case shift == 0:
		return // a little out of order, as rows are
	case shift.Abs() > mostZone: // SET timestamp
		row.Time = after.Add(-row.Duration)
	default:
		row.Time = row.Time.Add(shift)
		p.remember(row, shift)
	}
	p.moved++
	switch shift {
	case p.ahead:
		p.back++
	case -p.ahead:
		p.forward++
	}
}

// fits says whether a row may have ended at a time.
func (p *placer) fits(end, next time.Time) bool {
	return !end.Before(p.last.Add(-tolerance)) && (next.IsZero() || !end.After(next.Add(tolerance)))
}

func (p *placer) remember(row *querylog.Event, shift time.Duration) {
	if row.Has&querylog.HasThread == 0 {
		return
	}
	if p.zones == nil || len(p.zones) >= zonesKept {
		p.zones = map[uint64]time.Duration{}
	}
	p.zones[row.ThreadID] = shift
}
