package remedy

import (
	"fmt"
	"math"
)

// warmRate is the rate at which a cache is filled: what the source can take, or
// a tenth of what it took now.
func (c Case) warmRate() float64 {
	r := c.Budget
	if r <= 0 && c.Rebuild > 0 {
		r = 2 / c.Rebuild.Seconds() // about two loads at a time
	}
	if r <= 0 || c.before() > 0 && r > c.before()/2 {
		r = c.before() / 10
	}
	return math.Max(1, math.Ceil(r))
}

// warmUp fills the cache before it takes traffic.
func warmUp(c Case) Remedy {
	r := Remedy{
		Name: WarmUp, Helps: Yes,
		Text: fmt.Sprintf("load the most expensive keys before the cache takes traffic, at %s at most", rate(c.warmRate(), "keys/s")),
		Why:  "an empty cache under traffic is the heaviest of all herds: neither random TTLs nor one load a key is enough alone",
	}
	if !c.many() && c.hot() {
		r.Text, r.Why = "load this value before the cache takes traffic", "no reader misses it then"
		r.Effect = c.effect(1)
		return r
	}
	if c.Keys > 0 {
		r.Text += fmt.Sprintf(" (%s in %s)", count(c.Keys, "keys"), secs(seconds(c.Keys/c.warmRate())))
	}
	r.Effect = c.effect(c.warmRate())
	if r.Effect != nil {
		r.Helps = helps(*r.Effect)
		r.Curve = c.curve(burst(c.before(), math.Max(c.Total, c.before()), c.Width), burst(0, c.Keys, seconds(c.Keys/c.warmRate())), 0, 0)
	}
	return r
}

// stagger restarts processes one by one.
func stagger(c Case) Remedy {
	r := Remedy{
		Name: Stagger, Helps: Partly, Text: "restart the processes two minutes apart",
		Why: "each fills its own memory alone; a shared cache that was emptied, or whose keys were renamed, is cold for all of them all the same",
	}
	if c.Processes == 1 {
		r.Helps, r.Why = No, "there is one process"
	}
	return r
}
