package ttlhist

import "github.com/herdscan/herdscan/comb"

// Expiries returns the group's expiries in bins of width Bin, in ascending
// order of time. The slice is shared: do not change it.
func (g *Group) Expiries() []comb.ExpiryBin { return g.series }
