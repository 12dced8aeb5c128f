package scan

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// maxSample is the share from which a whole scan costs hardly more than a sample.
const maxSample = 0.5

// A sampling says which share of each part is read, and by which random numbers.
type sampling struct {
	share float64
	seed  uint64
}

// sampling follows from Options.Sample and MaxKeys, given the number of keys there are. A share of 1 means all.
func (o *Options) sampling(total uint64) sampling {
	s := sampling{share: 1, seed: o.Seed}
	if o.Sample > 0 {
		s.share = o.Sample
	}
	if o.MaxKeys > 0 && float64(o.MaxKeys) < s.share*float64(total) {
		s.share = float64(o.MaxKeys) / float64(total)
	}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	return s
}

// sampleRoutes cuts a sample of the part into at most n routes, or returns nil when all is to be read: because that
// was asked for, or because the part is too small for a sample of it to mean anything.
func (p *part) sampleRoutes(s sampling, keys uint64, n int) ([]route, error) {
	windows := int(math.Round(s.share * float64(keys) / windowKeys))
	if s.share > maxSample || windows < 1 {
		return nil, nil
	}
	random := rand.New(rand.NewPCG(s.seed, uint64(p.db)))
	switch {
	case p.node.hashesBySlot():
		return slotRoutes(p.slots, s.share, n, random), nil
	case p.node.ordered():
		return windowRoutes(windows, keys, n, random), nil
	}
	return nil, fmt.Errorf("%s: no samples can be taken from %s: its cursors are not those of Redis or Valkey", p.cov.Name, p.node.product())
}

// windowRoutes spreads windows evenly after a random start, and deals them out to n routes.
func windowRoutes(windows int, keys uint64, n int, random *rand.Rand) []route {
	step := math.MaxUint64/uint64(windows) + 1
	if windows == 1 {
		step = 0
	}
	position := random.Uint64()
	hands := make([][]uint64, min(n, windows))
	for i := range windows {
		hands[i%len(hands)] = append(hands[i%len(hands)], position)
		position += step
	}
	routes := make([]route, len(hands))
	for i, starts := range hands {
		routes[i] = newWindowRoute(starts, keys)
	}
	return routes
}

// slotRoutes draws slots at random, and deals them out to n routes.
func slotRoutes(owned []slotRange, share float64, n int, random *rand.Rand) []route {
	var slots []int
	for _, r := range owned {
		for slot := r.from; slot <= r.to; slot++ {
			slots = append(slots, slot)
		}
	}
	random.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
	slots = slots[:max(1, int(math.Round(share*float64(len(slots)))))]
	routes := make([]route, min(n, len(slots)))
	for i := range routes {
		r := &slotRoute{}
		for j := i; j < len(slots); j += len(routes) {
			r.slots = append(r.slots, slots[j])
		}
		routes[i] = r
	}
	return routes
}

// sampled is the share of the part's key space that the routes went through.
func (p *part) sampled(routes []route) float64 {
	var windows float64
	slots := 0
	for _, r := range routes {
		switch r := r.(type) {
		case *windowRoute:
			windows += r.covered
		case *slotRoute:
			slots += r.current
		default:
			return 1
		}
	}
	if slots == 0 {
		return min(1, windows)
	}
	owned := 0
	for _, r := range p.slots {
		owned += r.to - r.from + 1
	}
	return float64(slots) / float64(owned)
}

// ordered reports whether the server is known to walk one hash table in bit-reversed order.
func (n *node) ordered() bool {
	return (n.info.Kind == "redis" || n.info.Kind == "valkey") && !n.hashesBySlot()
}

// hashesBySlot reports whether the server keeps one hash table for each slot: in cluster mode, Redis since 7.4 and
// Valkey since 8.0.
func (n *node) hashesBySlot() bool {
	if n.info.Mode != "cluster" {
		return false
	}
	switch n.info.Kind {
	case "redis":
		return !olderThan(n.info.Version, 7, 4)
	case "valkey":
		return !olderThan(n.info.Version, 8, 0)
	}
	return false
}

// olderThan compares the first two numbers of a version; what is no number counts as 0.
func olderThan(version string, major, minor int) bool {
	var a, b int
	_, _ = fmt.Sscanf(version, "%d.%d", &a, &b)
	return a < major || a == major && b < minor
}

func (n *node) product() string {
	if n.info.Kind == "" {
		return "a server that does not tell what it is"
	}
	return n.info.Kind
}
