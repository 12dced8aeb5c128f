// Package ttlhist turns the keys of a cache into a mergeable Summary (groups
// of keys by pattern, with a histogram of expiries each) and a Summary into an
// Analysis: which groups expire as a herd, which locks can stay for ever,
// which keys share an eviction policy that hurts them.
//
// A Summary is a commutative monoid: its zero value is ready, Add takes keys
// in any order, Merge puts parts together. Its memory is bounded whatever the
// number of keys, and every rule that keeps it so depends on the set of keys
// alone, never on their order.
package ttlhist
