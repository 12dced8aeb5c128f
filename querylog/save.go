package querylog

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// saveKind and saveVersion head every saved Summary.
const (
	saveKind    = "herdscan-querylog"
	saveVersion = 1
	maxSaved    = 1 << 30                             // bytes of JSON that Load reads
	maxTime     = int64(1<<32-1) * int64(time.Second) // the year 2106
)

// ErrNotSummary says that a file is no saved Summary of query logs.
var ErrNotSummary = errors.New("no saved summary of query logs")

// saved is the JSON form of a Summary. Its last member is "classes", a list of
// savedClass, which is written and read one by one: it may be large.
type saved struct {
	Kind     string         `json:"kind"`
	Version  int            `json:"version"`
	Bin      time.Duration  `json:"bin_ns"`
	Level    int            `json:"level"`
	From     int64          `json:"from"`
	To       int64          `json:"to"`
	Timed    uint64         `json:"timed"`
	Fine     bool           `json:"fine"`
	Coarse   bool           `json:"coarse"`
	Hosts    []savedHost    `json:"hosts"`
	Edges    []savedEdge    `json:"edges"`
	Missing  []savedMissing `json:"missing"`
	Missed   uint64         `json:"missed"`
	Evicted  uint64         `json:"evicted"`
	Kinds    []uint64       `json:"kinds"`
	Own      uint64         `json:"own"`
	Throttle uint64         `json:"throttle"`
	Failures *comb.Series   `json:"failures,omitempty"`
	Restarts []time.Time    `json:"restarts"`
	Other    folded         `json:"other"`
	Gone     shapeSet       `json:"gone,omitempty"`
	Fewer    int            `json:"fewer,omitempty"`
	Coverage []Coverage     `json:"coverage"`
}

type savedHost struct {
	Name string `json:"name"`
	N    uint64 `json:"n"`
}

type savedClass struct {
	Hash      uint64            `json:"hash,string"`
	Shape     string            `json:"shape"`
	Follower  bool              `json:"follower,omitempty"`
	Admin     bool              `json:"admin,omitempty"`
	Partial   bool              `json:"partial,omitempty"`
	N         uint64            `json:"n"`
	Starts    []byte            `json:"starts"`
	Timed     uint64            `json:"timed"`
	Duration  time.Duration     `json:"duration_ns"`
	Longest   time.Duration     `json:"longest_ns"`
	Buckets   []uint64          `json:"buckets"`
	SentKnown uint64            `json:"sent_known"`
	SentNone  uint64            `json:"sent_none"`
	Sent      uint64            `json:"sent"`
	Examined  uint64            `json:"examined"`
	Affected  uint64            `json:"affected"`
	Errors    uint64            `json:"errors"`
	System    uint64            `json:"system"`
	WeightBin time.Duration     `json:"weight_bin_ns,omitempty"`
	Weights   []savedWeight     `json:"weights,omitempty"`
	Texts     []uint64          `json:"texts"`
	DBs       map[string]uint64 `json:"dbs,omitempty"`
	Bursts    []savedBurst      `json:"bursts,omitempty"`
	Sample    []byte            `json:"sample,omitempty"`
	SampleKey uint64            `json:"sample_key,string,omitempty"`
}

type savedBurst struct {
	Text   uint64        `json:"text,string"`
	Start  int64         `json:"start"`
	Span   time.Duration `json:"span_ns"`
	Count  uint64        `json:"count"`
	Peak   uint64        `json:"peak"`
	Second uint64        `json:"second"`
	Conns  uint64        `json:"conns"`
	Hosts  hostSet       `json:"hosts"`
}

type savedEdge struct {
	Text   uint64  `json:"text,string"`
	Class  uint64  `json:"class,string"`
	First  int64   `json:"first"`
	Last   int64   `json:"last"`
	End    int64   `json:"end"`
	N      uint64  `json:"n"`
	Conns  uint64  `json:"conns"`
	Hosts  hostSet `json:"hosts"`
	Starts []byte  `json:"starts,omitempty"`
}

type savedMissing struct {
	Text  uint64 `json:"text,string"`
	Class uint64 `json:"class,string"`
	N     uint64 `json:"n"`
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	Seen  uint64 `json:"windows"`
}

// Save writes the summary as gzipped JSON. Literals of queries are written
// only withSamples: one sample text a class. Equal summaries give equal bytes.
func (s *Summary) Save(w io.Writer, withSamples bool) error {
	s.settle()
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := s.write(z, withSamples); err != nil {
		return fmt.Errorf("saving query log summary: %w", err)
	}
	return z.Close()
}

// write writes the JSON form.
func (s *Summary) write(w io.Writer, withSamples bool) error {
	v, ids := s.saved()
	head, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(bytes.TrimSuffix(head, []byte("}")), `,"classes":[`...)); err != nil {
		return err
	}
	for i, hash := range slices.Sorted(maps.Keys(s.classes)) {
		if i > 0 {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		if err := s.classes[hash].write(w, ids, withSamples); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "]}\n")
	return err
}

// write writes the JSON form of a class. The starts go where they were left
// out, as they may be many: no string holds the quotes that mark the place.
func (c *class) write(w io.Writer, ids []hostID, withSamples bool) error {
	text, err := json.Marshal(c.saved(ids, withSamples))
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(text, []byte(`"starts":null`))
	if _, err := w.Write(slices.Concat(before, []byte(`"starts":"`))); err != nil {
		return err
	}
	b := base64.NewEncoder(base64.StdEncoding, w)
	if err := packCells(b, c.starts.renumbered(ids)); err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	_, err = w.Write(append([]byte(`"`), after...))
	return err
}

// saved builds the JSON form but for the classes, in an order that does not
// depend on that of the events, and the numbers of the clients in it.
func (s *Summary) saved() (v *saved, ids []hostID) {
	names := slices.Clone(s.names)
	slices.Sort(names)
	ids = make([]hostID, len(names)) // old number to new
	v = &saved{
		Kind: saveKind, Version: saveVersion, Bin: time.Duration(cellUnit), Level: s.level,
		From: s.from, To: s.to, Timed: s.timed, Fine: s.fine, Coarse: s.coarse,
		Missed: s.missed, Evicted: s.runs.evicted, Kinds: s.kinds[:], Own: s.own, Throttle: s.throttle,
		Failures: s.failures, Restarts: s.restarts, Other: s.other, Gone: s.gone, Fewer: s.fewer, Coverage: s.coverage,
	}
	for i, name := range names {
		old := s.hosts[name]
		ids[old] = hostID(i)
		v.Hosts = append(v.Hosts, savedHost{name, s.load[old].n})
	}
	for _, r := range s.runs.joined(s.gap()) {
		v.Edges = append(v.Edges, savedEdge{
			Text: r.text, Class: r.class.hash, First: r.first, Last: r.last, End: r.end, N: r.n,
			Conns: r.conns, Hosts: r.hosts.translate(ids), Starts: packIntervals(r.starts),
		})
	}
	for t, m := range s.missing {
		v.Missing = append(v.Missing, savedMissing{t, m.class.hash, m.n, m.first, m.last, m.windows})
	}
	slices.SortFunc(v.Missing, func(a, b savedMissing) int { return cmp.Compare(a.Text, b.Text) })
	return v, ids
}

// saved builds the JSON form of a class but for its starts.
func (c *class) saved(ids []hostID, withSamples bool) savedClass {
	v := savedClass{
		Hash: c.hash, Shape: c.shape, Follower: c.follower, Admin: c.admin, Partial: c.partial, N: c.n,
		Timed: c.timed, Duration: c.duration, Longest: c.longest, Buckets: trimZeros(c.buckets[:]),
		SentKnown: c.sentKnown, SentNone: c.sentNone, Sent: c.sent, Examined: c.examined, Affected: c.affected,
		Errors: c.errors, System: c.system, Texts: c.texts.list, DBs: c.dbs,
		WeightBin: time.Duration(c.weights.width), Weights: c.weights.saved(),
	}
	for _, b := range c.bursts {
		v.Bursts = append(v.Bursts, savedBurst{b.Text, b.Start.UnixNano(), b.Span, b.Count, b.Peak, b.Second, b.conns, b.hosts.translate(ids)})
	}
	if withSamples {
		v.Sample, v.SampleKey = c.sample, c.sampleText
	}
	return v
}

func trimZeros(b []uint64) []uint64 {
	n := len(b)
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return b[:n]
}

// packCells writes cells in few bytes.
func packCells(w io.Writer, list iter.Seq[cell]) error {
	out := bufio.NewWriter(w)
	var last uint64
	for c := range list {
		b := binary.AppendUvarint(out.AvailableBuffer(), c.key()-last)
		if _, err := out.Write(binary.AppendUvarint(b, uint64(c&cellLow))); err != nil {
			return err
		}
		last = c.key()
	}
	return out.Flush()
}

// unpackCells reads cells that packCells wrote and rounds them to a level.
func unpackCells(b []byte, level int) (cs cells, err error) {
	p := packer{level: level}
	pack := len(b) > maxSavedLoose
	var last uint64
	for len(b) > 0 {
		step, n := binary.Uvarint(b)
		if n <= 0 {
			return cs, errCells
		}
		count, m := binary.Uvarint(b[n:])
		if m <= 0 || count&cellMaxN == 0 || count > cellLow {
			return cs, errCells
		}
		b = b[n+m:]
		if last+step < last || last+step >= 1<<(64-cellHost) {
			return cs, errCells
		}
		last += step
		if c := cell(last<<cellHost | count); pack {
			p.add(c.rounded(level))
		} else {
			cs.list = append(cs.list, c)
		}
	}
	if pack {
		cs.packed = p.finish()
	}
	cs.round(level)
	return cs, nil
}

// maxSavedLoose is from how many bytes of starts on a class is not unpacked.
const maxSavedLoose = 1 << 14

var errCells = errors.New("malformed counts")

func packIntervals(list []interval) []byte {
	var out []byte
	var last int64
	for _, v := range list {
		out = binary.AppendVarint(out, v.from-last)
		out = binary.AppendVarint(out, v.to-v.from)
		last = v.from
	}
	return out
}

func unpackIntervals(b []byte) ([]interval, error) {
	var out []interval
	var last int64
	for len(b) > 0 {
		step, n := binary.Varint(b)
		if n <= 0 {
			return nil, errCells
		}
		length, m := binary.Varint(b[n:])
		if m <= 0 || length < 0 {
			return nil, errCells
		}
		b = b[n+m:]
		last += step
		if last+length < last {
			return nil, errCells
		}
		out = append(out, interval{last, last + length})
	}
	return out, nil
}

// Load reads a summary that Save wrote. It returns ErrNotSummary for anything
// else, and says so when version or bin differ.
func Load(r io.Reader) (*Summary, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSummary, err)
	}
	s, err := load(json.NewDecoder(io.LimitReader(z, maxSaved)))
	var other errOther
	if err != nil && !errors.Is(err, ErrNotSummary) && !errors.As(err, &other) {
		err = fmt.Errorf("%w: %w", ErrNotSummary, err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// errOther says that a summary is of another version or bin.
type errOther string

func (e errOther) Error() string { return string(e) }

// load reads the JSON form member by member. A log is refused at its first
// byte, whatever its size.
func load(d *json.Decoder) (*Summary, error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, ErrNotSummary
	}
	var v saved
	var classes []*class
	rest := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		if name, _ := t.(string); name != "classes" {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return nil, err
			}
			rest[name] = raw
			continue
		}
		if err := v.take(rest); err != nil {
			return nil, err
		}
		if classes, err = loadClasses(d, v.Level, classes); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if err := v.take(rest); err != nil {
		return nil, err
	}
	return v.summary(classes)
}

// take reads what came of the members but for the classes, and checks it.
func (v *saved) take(rest map[string]json.RawMessage) error {
	text, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return err
	}
	clear(rest)
	switch {
	case v.Kind != saveKind:
		return ErrNotSummary
	case v.Version != saveVersion:
		return errOther(fmt.Sprintf("summary of version %d: this herdscan reads version %d", v.Version, saveVersion))
	case v.Bin != time.Duration(cellUnit):
		return errOther(fmt.Sprintf("summary with bins of %v: this herdscan reads bins of %v", v.Bin, time.Duration(cellUnit)))
	case v.Level < 0 || v.Level > maxLevel:
		return errors.New("an impossible level")
	}
	return nil
}

// loadClasses reads the list of classes, which may be null.
func loadClasses(d *json.Decoder, level int, list []*class) ([]*class, error) {
	if t, err := d.Token(); err != nil || t == nil {
		return list, err
	} else if t != json.Delim('[') {
		return nil, errors.New("malformed classes")
	}
	for d.More() {
		var v savedClass
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		c, err := v.class(level)
		if err != nil {
			return nil, err
		}
		if list = append(list, c); len(list) > 2*maxClasses {
			return nil, errors.New("a table is too long")
		}
	}
	_, err := d.Token()
	return list, err
}

// summary checks the JSON form and builds the Summary.
func (v *saved) summary(classes []*class) (*Summary, error) {
	if len(v.Hosts) > maxHosts ||
		len(v.Edges) > 2*maxEdges || len(v.Missing) > 2*maxMissing || len(v.Kinds) > 8 ||
		len(v.Gone) != 0 && len(v.Gone) != 1<<shapeBits/64 || v.Fewer < 0 || maxBursts>>v.Fewer == 0 {
		return nil, errors.New("a table is too long")
	}
	s := &Summary{
		classes: map[uint64]*class{}, missing: map[uint64]*missing{}, level: v.Level,
		from: v.From, to: v.To, timed: v.Timed, fine: v.Fine, coarse: v.Coarse,
		missed: v.Missed, own: v.Own, throttle: v.Throttle, other: v.Other, gone: v.Gone, fewer: v.Fewer, coverage: v.Coverage,
	}
	if v.Timed > 0 && (v.From > v.To || v.From < 0 || v.To > maxTime) {
		return nil, errors.New("times out of order")
	}
	s.runs.evicted = v.Evicted
	copy(s.kinds[:], v.Kinds)
	if v.Failures != nil && v.Failures.BinWidth() == comb.FineBin {
		s.failures = v.Failures
	}
	s.restarts = v.Restarts[:min(len(v.Restarts), maxStarts)]
	for _, h := range v.Hosts {
		if _, ok := s.hosts[h.Name]; ok {
			return nil, errors.New("a client comes twice")
		}
		s.load[s.hostNumber(h.Name)].n = h.N
	}
	for _, c := range classes {
		if s.classes[c.hash] != nil {
			return nil, errors.New("a class comes twice")
		}
		s.classes[c.hash] = c
		s.text += c.text()
		s.trimBursts(c)
	}
	return s, v.links(s)
}

// links restores what refers to classes.
func (v *saved) links(s *Summary) error {
	for _, m := range v.Missing {
		c := s.classes[m.Class]
		if c == nil {
			return errors.New("an unknown class")
		}
		s.missing[m.Text] = &missing{c, m.N, m.First, m.Last, m.Seen}
	}
	for _, e := range v.Edges {
		c := s.classes[e.Class]
		if c == nil {
			return errors.New("an unknown class")
		}
		starts, err := unpackIntervals(e.Starts)
		if err != nil {
			return err
		}
		if e.N == 0 || e.First > e.Last || e.First > e.End || e.N > 1 && len(starts) < 2 {
			return errors.New("an impossible burst")
		}
		s.runs.edges = append(s.runs.edges, run{text: e.Text, class: c, first: e.First, last: e.Last, end: e.End, n: e.N, conns: e.Conns, hosts: e.Hosts, starts: starts})
	}
	return nil
}

func (v *savedClass) class(level int) (*class, error) {
	starts, err := unpackCells(v.Starts, level)
	if err != nil {
		return nil, err
	}
	if len(v.Buckets) > durBuckets || len(v.Texts) > kmvSize || len(v.DBs) > maxDBs || len(v.Bursts) > maxBursts || !slices.IsSorted(v.Texts) {
		return nil, errors.New("a table of a class is too long or out of order")
	}
	w, ok := loadWeights(v.WeightBin, v.Weights)
	if !ok {
		return nil, errors.New("impossible weights of a class")
	}
	c := &class{
		weights: w,
		hash:    v.Hash, shape: v.Shape, follower: v.Follower, admin: v.Admin, partial: v.Partial, n: v.N, starts: starts,
		timed: v.Timed, duration: v.Duration, longest: v.Longest,
		sentKnown: v.SentKnown, sentNone: v.SentNone, sent: v.Sent, examined: v.Examined, affected: v.Affected,
		errors: v.Errors, system: v.System, texts: kmv{slices.Compact(v.Texts)}, dbs: v.DBs,
		sample: v.Sample, sampleText: v.SampleKey,
	}
	copy(c.buckets[:], v.Buckets)
	for _, b := range v.Bursts {
		c.bursts = append(c.bursts, Burst{
			Text: b.Text, Start: time.Unix(0, b.Start).UTC(), Span: b.Span, Count: b.Count, Peak: b.Peak, Second: b.Second,
			Hosts: b.Hosts.len(), Conns: bits.OnesCount64(b.Conns), hosts: b.Hosts, conns: b.Conns,
		})
	}
	return c, nil
}
