package ttlhist

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A saved Summary is gzip JSON. Its first fields say what it is.
const (
	fileKind    = "herdscan-ttl"
	fileVersion = 1
)

// ErrKind is returned (wrapped) by Load for a file that is no saved Summary
// of this kind and version.
var ErrKind = errors.New("not a saved TTL summary of this version")

type savedSummary struct {
	Kind      string       `json:"kind"`
	Version   int          `json:"version"`
	BinMS     []int64      `json:"bin_ms"` // the ladder of bin widths
	Samples   bool         `json:"samples"`
	Grouping  string       `json:"grouping,omitempty"`
	Sources   []Source     `json:"sources"`
	Groups    []savedGroup `json:"groups"`
	Roots     []savedRoot  `json:"roots,omitempty"` // folded roots only
	RootLimit int          `json:"root_limit,omitempty"`
	Buckets   bool         `json:"buckets,omitempty"`
	Cells     [][2]uint64  `json:"cells"`
	Steps     int          `json:"steps,omitempty"`
}

type savedRoot struct {
	Name  string `json:"name"`
	Level int    `json:"level,omitempty"`
	Full  bool   `json:"full,omitempty"`
}

type savedGroup struct {
	Pattern   []byte            `json:"pattern"` // bytes: a pattern need not be UTF-8
	Root      []byte            `json:"root"`
	Level     int               `json:"level,omitempty"`
	Keys      uint64            `json:"keys"`
	NoTTL     uint64            `json:"no_ttl,omitempty"`
	FieldTTL  uint64            `json:"field_ttl,omitempty"`
	Far       uint64            `json:"far,omitempty"`
	Types     map[string]uint64 `json:"types,omitempty"`
	Precise   uint64            `json:"precise,omitempty"`
	Whole     uint64            `json:"whole,omitempty"`
	Minute    uint64            `json:"minute,omitempty"`
	Hour      uint64            `json:"hour,omitempty"`
	Expiry    savedHistogram    `json:"expiry"`
	Originals savedHistogram    `json:"originals"`
	Lives     savedHistogram    `json:"lives"`
	Sample    []sampledKey      `json:"sample,omitempty"`
	Hot       []hotKey          `json:"hot,omitempty"`
}

// A savedHistogram holds bin numbers as differences to the one before, and
// counts.
type savedHistogram struct {
	Level int      `json:"level,omitempty"`
	Steps []int64  `json:"steps,omitempty"`
	Count []uint64 `json:"count,omitempty"`
}

// Save writes the Summary as gzip JSON. Of keys it writes the patterns only,
// unless samples is set: then also up to 8 whole keys of each group.
func (s *Summary) Save(w io.Writer, samples bool) error {
	z := gzip.NewWriter(w)
	if err := json.NewEncoder(z).Encode(s.saved(samples)); err != nil {
		return fmt.Errorf("save TTL summary: %w", err)
	}
	return z.Close()
}

func (s *Summary) saved(samples bool) savedSummary {
	s.settle()
	out := savedSummary{
		Kind: fileKind, Version: fileVersion, BinMS: binWidths[:], Samples: samples,
		Grouping: s.grouping(), Sources: s.Sources(),
		RootLimit: cmp.Or(s.index.rootLimit, maxRootLimit), Buckets: s.index.buckets, Steps: s.bins.steps,
	}
	for name, r := range s.index.roots {
		if r.level > 0 || r.full {
			out.Roots = append(out.Roots, savedRoot{name, r.level, r.full})
		}
	}
	slices.SortFunc(out.Roots, func(a, b savedRoot) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range s.groups {
		out.Groups = append(out.Groups, g.saved(samples))
	}
	slices.SortFunc(out.Groups, func(a, b savedGroup) int { return slices.Compare(a.Pattern, b.Pattern) })
	for i, n := range s.bins.cells {
		if n > 0 {
			out.Cells = append(out.Cells, [2]uint64{uint64(i), n})
		}
	}
	return out
}

func (g *group) saved(samples bool) savedGroup {
	out := savedGroup{
		Pattern: []byte(g.pattern), Root: []byte(g.root), Level: g.level,
		Keys: g.keys, NoTTL: g.noTTL, FieldTTL: g.fieldTTL, Far: g.far, Types: g.types,
		Precise: g.precise, Whole: g.whole, Minute: g.minute, Hour: g.hour,
		Expiry: g.expiry.saved(), Originals: g.originals.saved(), Lives: g.lives.saved(),
		Sample: slices.Clone(g.sample), Hot: g.hot,
	}
	if !samples {
		for i := range out.Sample {
			out.Sample[i].Name = nil
		}
	}
	return out
}

func (h *histogram) saved() savedHistogram {
	width := binWidths[h.level]
	out := savedHistogram{Level: h.level}
	last := int64(0)
	for _, b := range h.sorted() {
		bin := b.At / width
		out.Steps = append(out.Steps, bin-last)
		out.Count = append(out.Count, b.Count)
		last = bin
	}
	return out
}

// Load reads what Save wrote. The error wraps ErrKind if r holds something
// else, and names what it holds.
func Load(r io.Reader) (*Summary, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: no gzip data: %w", ErrKind, err)
	}
	defer z.Close()
	var in savedSummary
	if err := json.NewDecoder(z).Decode(&in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKind, err)
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return in.summary()
}

func (in *savedSummary) check() error {
	switch {
	case in.Kind == "":
		return fmt.Errorf("%w: JSON without a kind", ErrKind)
	case in.Kind != fileKind:
		return fmt.Errorf("%w: kind %q, want %q", ErrKind, in.Kind, fileKind)
	case in.Version != fileVersion:
		return fmt.Errorf("%w: version %d, want %d", ErrKind, in.Version, fileVersion)
	case !slices.Equal(in.BinMS, binWidths[:]):
		return fmt.Errorf("%w: bins of %v ms, want %v", ErrKind, in.BinMS, binWidths)
	case in.Steps < 0 || firstLimit>>in.Steps < lowestLimit:
		return fmt.Errorf("%w: damaged: bin bound %d", ErrKind, in.Steps)
	}
	return nil
}

// summary rebuilds the Summary. Damaged numbers are refused, not repaired.
func (in *savedSummary) summary() (*Summary, error) {
	s := &Summary{sources: in.Sources, loaded: in.Grouping}
	s.prepare()
	s.bins = binBound{cells: make([]uint64, cellCount), steps: in.Steps}
	for _, c := range in.Cells {
		if c[0] >= cellCount {
			return nil, fmt.Errorf("%w: damaged: cell %d", ErrKind, c[0])
		}
		s.bins.cells[c[0]] = c[1]
	}
	s.bins.weigh()
	s.index = folding{roots: make(map[string]*root), rootLimit: cmp.Or(in.RootLimit, maxRootLimit), buckets: in.Buckets}
	for _, r := range in.Roots {
		s.index.roots[r.Name] = &root{level: r.Level, full: r.Full, groups: make(map[string]*group)}
	}
	for i := range in.Groups {
		g, err := in.Groups[i].group()
		if err != nil {
			return nil, err
		}
		s.groups[g.pattern] = g
		r := s.index.roots[g.root]
		if r == nil {
			r = &root{level: g.level, groups: make(map[string]*group)}
			s.index.roots[g.root] = r
		}
		r.groups[g.pattern] = g
	}
	for _, r := range s.index.roots {
		s.index.mass += r.weight(s.index.rootLimit)
	}
	return s, nil
}

func (in *savedGroup) group() (*group, error) {
	g := &group{
		pattern: string(in.Pattern), root: string(in.Root), level: in.Level,
		keys: in.Keys, noTTL: in.NoTTL, fieldTTL: in.FieldTTL, far: in.Far, types: in.Types,
		precise: in.Precise, whole: in.Whole, minute: in.Minute, hour: in.Hour,
		sample: in.Sample, hot: in.Hot,
	}
	for _, h := range []struct {
		to   *histogram
		from savedHistogram
	}{{&g.expiry, in.Expiry}, {&g.originals, in.Originals}, {&g.lives, in.Lives}} {
		if err := h.to.load(h.from); err != nil {
			return nil, fmt.Errorf("%w: group %q: %w", ErrKind, g.pattern, err)
		}
	}
	return g, nil
}

func (h *histogram) load(in savedHistogram) error {
	if in.Level < 0 || in.Level >= len(binWidths) {
		return fmt.Errorf("damaged: bin level %d", in.Level)
	}
	if len(in.Steps) != len(in.Count) {
		return fmt.Errorf("damaged: %d bins with %d counts", len(in.Steps), len(in.Count))
	}
	h.level = in.Level
	width := binWidths[h.level]
	bin := int64(0)
	for i, step := range in.Steps {
		bin += step
		if bin > farFuture/width+1 || bin < -farFuture/width-1 {
			return fmt.Errorf("damaged: bin %d", bin)
		}
		h.add(bin*width, in.Count[i])
	}
	return nil
}
