package comb

import "math"

// An appointment is something that will happen to a value.
type appointment struct {
	at       float64
	value    *value
	schedule uint32 // of a read: it counts while it is the value's
	kind     appointmentKind
}

type appointmentKind uint8

const (
	planned appointmentKind = iota // a read
	rebuilt                        // a rebuild is done
	filled                         // a job writes it
)

// agenda is a binary heap of appointments by time.
type agenda []appointment

// next returns the time of the first appointment, infinity if there is none.
func (a agenda) next() float64 {
	if len(a) == 0 {
		return math.Inf(1)
	}
	return a[0].at
}

func (a *agenda) push(x appointment) {
	h := append(*a, x)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].at <= x.at {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
	*a = h
}

func (a *agenda) pop() appointment {
	h := *a
	first, last := h[0], h[len(h)-1]
	h[len(h)-1] = appointment{}
	h = h[:len(h)-1]
	*a = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].at < h[child].at {
			child++
		}
		if h[child].at >= last.at {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return first
}

// database works on a number of queries at once, in the order in which they
// come; nil: on any number.
type database []float64 // when each place is free, a heap

func newDatabase(places int) database {
	if places <= 0 {
		return nil
	}
	return make(database, places)
}

// run takes a query and returns when it is done.
func (d database) run(now, work float64) float64 {
	if d == nil {
		return now + work
	}
	done := max(now, d[0]) + work
	i := 0
	for {
		child := 2*i + 1
		if child >= len(d) {
			break
		}
		if child+1 < len(d) && d[child+1] < d[child] {
			child++
		}
		if d[child] >= done {
			break
		}
		d[i] = d[child]
		i = child
	}
	d[i] = done
	return done
}
