package live

import "time"

// pace is the clock of one kind of look: it keeps the interval that was asked
// for, as long as looking takes no more than a share of the time.
type pace struct {
	every time.Duration
	share float64 // of the time that looks may take, above 0

	looks uint64
	spent time.Duration
	next  time.Time
}

// due says whether it is time to look.
func (p *pace) due(now time.Time) bool { return !now.Before(p.next) }

// took sets the time of the next look after one that lasted from begin to end.
func (p *pace) took(begin, end time.Time) {
	cost := end.Sub(begin)
	p.looks++
	p.spent += cost
	p.next = begin.Add(max(p.every, time.Duration(float64(cost)/p.share)))
}

// mean is the interval between two looks over a time.
func (p *pace) mean(over time.Duration) time.Duration {
	if p.looks < 2 {
		return p.every
	}
	return over / time.Duration(p.looks-1)
}
