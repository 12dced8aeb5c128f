package ttlhist

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A row is the keys of one line of the table: one stored group, or several
// that are one pattern to a reader.
type row struct {
	group
	merged int
	shared bool // the group's maps and slices belong to the Summary
}

const (
	manySiblings = 12 // patterns that differ in one segment from which they are one
	fewKeys      = 3  // keys that most of them may have at most
)

// rows returns the groups as a reader wants them: groups that share a bucket
// are named by what fills them, and siblings (user:alice:cart, user:bob:cart)
// are put together.
func (s *Summary) rows() []*row {
	named := make(map[string]*row)
	for _, g := range s.groups {
		addRow(named, s.nameOf(g), g)
	}
	for joinSiblings(named) {
	}
	all := make([]*row, 0, len(named))
	for _, r := range named {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.keys, a.keys), strings.Compare(a.pattern, b.pattern))
	})
	return all
}

// addRow adds a group, which it leaves alone, to the row of a name.
func addRow(rows map[string]*row, name string, g *group) {
	g.expiry.shared, g.originals.shared, g.lives.shared = true, true, true
	r := &row{group: *g, merged: 1, shared: true}
	r.pattern = name
	mergeRow(rows, name, r)
}

func mergeRow(rows map[string]*row, name string, r *row) {
	to := rows[name]
	if to == nil {
		rows[name] = r
		return
	}
	if to.shared {
		own := group{pattern: name}
		own.merge(&to.group)
		to.group, to.shared = own, false
	}
	to.group.merge(&r.group)
	to.merged += r.merged
}

// nameOf returns the pattern of a group. A group that many roots share has the
// name of the root that fills it, if one does: the others are too rare to see.
func (s *Summary) nameOf(g *group) string {
	if g.level != bucketLevel {
		return g.pattern
	}
	const enough = 3
	counts := make(map[string]int)
	best := ""
	for _, k := range g.sample {
		counts[k.Pattern]++
		if counts[k.Pattern] > counts[best] || counts[k.Pattern] == counts[best] && k.Pattern < best {
			best = k.Pattern
		}
	}
	if counts[best] >= enough {
		return best + "**"
	}
	return otherPattern
}

// otherPattern is the row of patterns that are too many and too rare to keep.
const otherPattern = "(other patterns)"

// joinSiblings puts patterns together that differ in one segment only, if they
// are many with few keys each. It tells whether it joined any; a joined
// pattern may have siblings itself.
func joinSiblings(rows map[string]*row) bool {
	sets := siblingSets(rows)
	names := slices.Collect(maps.Keys(sets))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(sets[b]), len(sets[a])), strings.Compare(a, b))
	})
	joined := false
	for _, name := range names {
		patterns := slices.DeleteFunc(sets[name], func(p string) bool { return rows[p] == nil })
		if len(patterns) < manySiblings || !mostlySmall(rows, patterns) {
			continue
		}
		for _, p := range patterns {
			if r := rows[p]; r.keys < defaultMinKeys {
				delete(rows, p)
				r.pattern = name
				mergeRow(rows, name, r)
				joined = true
			}
		}
	}
	return joined
}

// siblingSets returns the patterns that become one when one segment becomes
// "*", by what they become.
func siblingSets(rows map[string]*row) map[string][]string {
	sets := make(map[string][]string)
	for pattern := range rows {
		segs := segments(pattern)
		if len(segs) < 2 || pattern == otherPattern {
			continue
		}
		for _, seg := range segs {
			if pattern[seg[0]:seg[1]] == "*" {
				continue
			}
			name := pattern[:seg[0]] + "*" + pattern[seg[1]:]
			if strings.Trim(name, "*:/|-_. ") != "" {
				sets[name] = append(sets[name], pattern)
			}
		}
	}
	return sets
}

// mostlySmall tells whether at least half of the patterns have few keys.
func mostlySmall(rows map[string]*row, patterns []string) bool {
	small := 0
	for _, p := range patterns {
		if rows[p].keys <= fewKeys {
			small++
		}
	}
	return small*2 >= len(patterns)
}

// folds says what the bounds of memory cost.
func (s *Summary) folds() []string {
	var out []string
	x := &s.index
	switch {
	case x.buckets:
		out = append(out, fmt.Sprintf("More than %d first words: words share %d groups by hash; a word with 0.1 %% of the keys keeps its own name, up to 0.03 %% of other keys are counted with it.", maxGroups, bucketCount))
	default:
		folded := 0
		for _, r := range x.roots {
			if r.level > 0 {
				folded++
			}
		}
		if folded > 0 {
			out = append(out, fmt.Sprintf("The patterns of %d of %d first words were joined: each had more than %d.", folded, len(x.roots), x.rootLimit))
		}
	}
	coarse, keys, far := 0, uint64(0), uint64(0)
	for _, g := range s.groups {
		far += g.far
		if g.expiry.level > secondLevel {
			coarse++
			keys += g.withTTL()
		}
	}
	if coarse > 0 {
		out = append(out, fmt.Sprintf("%d of %d groups (%d keys) have bins wider than 1 s: their busiest second is an estimate.", coarse, len(s.groups), keys))
	}
	if far > 0 {
		out = append(out, fmt.Sprintf("%d keys expire after the year 2248, probably seconds and milliseconds mixed up: not in the histograms.", far))
	}
	return out
}
