package watch

import (
	"fmt"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
)

// A tape is what MONITOR shows.
type tape struct {
	s     *Sample
	began time.Time
}

func newTape() *tape {
	began := newClock().now()
	return &tape{NewSample(began, 0), began}
}

func (p *tape) add(ms int, client int, words ...string) {
	c := scan.Command{At: p.began.Add(time.Duration(ms) * time.Millisecond), Client: fmt.Sprintf("10.0.0.%d:%d", client%4, 1000+client)}
	for _, w := range words {
		c.Args = append(c.Args, []byte(w))
	}
	p.s.Add(&c)
}

func (p *tape) rebuilds(ms int) []Rebuild {
	return p.s.Rebuilds(p.began.Add(time.Duration(ms) * time.Millisecond))
}

// Forty clients read a key, the key dies, all miss it, and each writes it a
// second later.
func TestRebuildsSideBySide(t *testing.T) {
	p := newTape()
	for i := range 40 {
		p.add(100+i, i, "GET", "price:42") // hits
	}
	for i := range 40 {
		p.add(2000+10*i, i, "GET", "price:42") // misses
	}
	for i := range 15 {
		p.add(3000+10*i, i, "SET", "price:42", "v", "EX", "60")
	}
	r := p.rebuilds(3150)
	if len(r) != 1 || r[0].Key != "price:42" || r[0].Written != 15 || r[0].Missed != 40 || r[0].Clients != 40 || r[0].Hosts != 4 || r[0].InFlight != 25 || r[0].Took != time.Second {
		t.Fatalf("%+v", r)
	}
	for i := 15; i < 40; i++ {
		p.add(3000+10*i, i, "SET", "price:42", "v", "EX", "60")
	}
	if r := p.rebuilds(5000); len(r) != 1 || r[0].Written != 40 || r[0].InFlight != 0 {
		t.Errorf("%+v", r)
	}
}

// What looks alike and is none.
func TestNoRebuilds(t *testing.T) {
	for _, c := range []struct {
		name string
		fill func(*tape)
	}{
		{"one caller rebuilds", func(p *tape) {
			for i := range 300 {
				p.add(i*10, i%40, "GET", "price:42")
			}
			p.add(3100, 1, "SET", "price:42", "v", "EX", "60")
		}},
		{"a lock that many try for", func(p *tape) {
			for i := range 60 {
				p.add(i, i, "GET", "lock:a")
			}
			for i := range 60 {
				p.add(1000+i, i, "SET", "lock:a", "me", "NX", "PX", "1000")
			}
		}},
		{"read, changed and written all the time", func(p *tape) {
			for i := range 2000 {
				p.add(i, i%50, "GET", "cart:1")
				p.add(i, i%50, "SET", "cart:1", "v")
			}
		}},
		{"one writer refreshes it", func(p *tape) {
			for i := range 300 {
				p.add(i*10, i%40, "GET", "rates")
				if i%10 == 0 {
					p.add(i*10, 99, "SET", "rates", "v")
				}
			}
		}},
		{"each its own key", func(p *tape) {
			for i := range 200 {
				p.add(i, i, "GET", fmt.Sprint("product:", i))
				p.add(1000+i, i, "SET", fmt.Sprint("product:", i), "v")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape()
			c.fill(p)
			for _, r := range p.rebuilds(3200) {
				if r.Written >= herdCopies && r.Missed >= herdCopies {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// A sample is bounded: of more keys than are followed the rest is counted.
func TestSampleIsBounded(t *testing.T) {
	p := newTape()
	for i := range maxFollowed + 10 {
		p.add(1, 1, "GET", fmt.Sprint(i))
	}
	for i := range 3 * maxReads {
		p.add(2, i, "GET", "0")
	}
	k := p.s.keys[keyID{0, "0"}]
	if p.s.Left != 10 || len(k.reads) > maxReads || len(k.readers) > maxReads {
		t.Errorf("%d left, %d reads, %d readers", p.s.Left, len(k.reads), len(k.readers))
	}
}
