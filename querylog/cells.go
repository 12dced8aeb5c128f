package querylog

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
)

// cells is a multiset of starts. Of long logs all but the latest are packed.
type cells struct {
	list   []cell
	sorted int // length of the list after the last compaction
	packed []chunk
}

// add counts one start.
func (cs *cells) add(t int64, h hostID, conn uint8) {
	c := newCell(t, h, conn)
	if k := len(cs.list) - 1; k >= 0 && cs.list[k].key() == c.key() && cs.list[k].n() < cellMaxN {
		cs.list[k] = (cs.list[k] + 1) | cell(conn)<<cellConn
		return
	}
	cs.list = append(cs.list, c)
	if len(cs.list) > 2*cs.sorted+4096 {
		cs.compact()
	}
}

// compact sorts the cells and joins equal ones. Those that came since the last
// time are few, or later than most, so only what they overlap with is merged.
func (cs *cells) compact() {
	if cs.sorted == len(cs.list) {
		return
	}
	old, late := cs.list[:cs.sorted], cs.list[cs.sorted:]
	slices.Sort(late)
	from, _ := slices.BinarySearchFunc(old, late[0].key(), func(c cell, key uint64) int { return cmp.Compare(c.key(), key) })
	if from < len(old) {
		late = mergeCells(old[from:], late)
	}
	cs.list = join(cs.list[:from], late)
	cs.sorted = len(cs.list)
}

// mergeCells puts two sorted lists together.
func mergeCells(a, b []cell) []cell {
	out := make([]cell, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].key() <= b[0].key() {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// join appends sorted cells, equal ones as one. The list may be the place from
// which out goes on: a count fits into as many cells as it was read from, so
// writing never overtakes reading.
func join(out, list []cell) []cell {
	for i := 0; i < len(list); {
		key, n, conns := list[i].key(), uint64(0), cell(0)
		for ; i < len(list) && list[i].key() == key; i++ {
			n += list[i].n()
			conns |= cell(list[i].conns()) << cellConn
		}
		for ; n > 0; n -= min(n, cellMaxN) {
			out = append(out, cell(key<<cellHost)|conns|cell(min(n, cellMaxN)))
		}
	}
	return out
}

// len returns the number of cells.
func (cs *cells) len() int {
	n := len(cs.list)
	for i := range cs.packed {
		n += cs.packed[i].n
	}
	return n
}

// ends returns the first and the last cell, of none zeros.
func (cs *cells) ends() (first, last cell) {
	if k := len(cs.list); k > 0 {
		first, last = cs.list[0], cs.list[k-1]
	}
	if k := len(cs.packed); k > 0 {
		first, last = cs.packed[0].first, cs.packed[k-1].last
	}
	return first, last
}

// all gives the cells in their order. What is packed must be settled.
func (cs *cells) all() iter.Seq[cell] {
	return func(yield func(cell) bool) {
		for i := range cs.packed {
			for c := range cs.packed[i].all() {
				if !yield(c) {
					return
				}
			}
		}
		for _, c := range cs.list {
			if !yield(c) {
				return
			}
		}
	}
}

// renumbered gives the cells in their order with other numbers of the clients.
func (cs *cells) renumbered(ids []hostID) iter.Seq[cell] {
	return func(yield func(cell) bool) {
		var late []cell // of one bin
		flush := func() bool {
			slices.Sort(late)
			for _, c := range join(nil, late) {
				if !yield(c) {
					return false
				}
			}
			late = late[:0]
			return true
		}
		for c := range cs.all() {
			if len(late) > 0 && late[0]>>cellBin != c>>cellBin && !flush() {
				return
			}
			if h := c.host(); int(h) < len(ids) {
				c = c.withHost(ids[h])
			}
			late = append(late, c)
		}
		flush()
	}
}

// in returns the cells of a span in Unix nanoseconds, to excluded.
func (cs *cells) in(from, to int64) []cell {
	list := cs.list
	if len(cs.packed) > 0 {
		list = nil
		for i := range cs.packed {
			if ch := &cs.packed[i]; ch.last.at() >= from && ch.first.at() < to {
				list = slices.AppendSeq(list, ch.all())
			}
		}
	}
	lo, _ := slices.BinarySearchFunc(list, from, func(x cell, t int64) int { return cmp.Compare(x.at(), t) })
	hi, _ := slices.BinarySearchFunc(list[lo:], to, func(x cell, t int64) int { return cmp.Compare(x.at(), t) })
	return list[lo : lo+hi]
}

// settle sorts what was added since the last time, and rounds it like the rest.
func (cs *cells) settle(level int) {
	if len(cs.packed) > 0 {
		cs.pack(level)
		return
	}
	cs.round(level)
}

// pack puts the list behind the packed cells; only those that it overlaps with
// are unpacked for it, one chunk after the other. The packed ones must be of
// the same level.
func (cs *cells) pack(level int) {
	cs.round(level)
	if len(cs.list) == 0 {
		return
	}
	keep := len(cs.packed)
	for keep > 0 && cs.packed[keep-1].last.key() >= cs.list[0].key() {
		keep--
	}
	if keep == len(cs.packed) && keep > 0 && cs.packed[keep-1].n < chunkSize/2 {
		keep-- // fill it up
	}
	old := slices.Clone(cs.packed[keep:])
	p := packer{out: cs.packed[:keep], level: level}
	rest := cs.list
	for c := range consume(old) {
		for len(rest) > 0 && rest[0].key() < c.key() {
			p.add(rest[0])
			rest = rest[1:]
		}
		p.add(c)
	}
	for _, c := range rest {
		p.add(c)
	}
	cs.packed = p.finish()
	cs.list, cs.sorted = nil, 0
}

// coarsen rounds all starts to a level: 1 whole seconds, 2 without clients, 3
// and up ever wider bins. The result does not depend on when it is done.
func (cs *cells) coarsen(level int) {
	if len(cs.packed) == 0 {
		cs.round(level)
		return
	}
	p := packer{level: level}
	old := cs.packed
	cs.packed = nil
	for c := range consume(old) {
		p.add(c.rounded(level))
	}
	cs.packed = p.finish()
	cs.pack(level)
}

// consume gives the cells of chunks and lets go of each chunk after its last one.
func consume(chunks []chunk) iter.Seq[cell] {
	return func(yield func(cell) bool) {
		for i := range chunks {
			for c := range chunks[i].all() {
				if !yield(c) {
					return
				}
			}
			chunks[i] = chunk{}
		}
	}
}

// packer makes chunks of cells that come in the order of their bins.
type packer struct {
	out   []chunk
	level int
	ready []cell // joined, of bins before that of late
	late  []cell // of the last bin, in any order
}

func (p *packer) add(c cell) {
	if len(p.late) > 0 && p.late[0]>>cellBin != c>>cellBin {
		p.flush()
	}
	p.late = append(p.late, c)
}

// flush joins the cells of the last bin.
func (p *packer) flush() {
	if len(p.late) > 1 {
		slices.Sort(p.late)
	}
	p.ready = join(p.ready, p.late)
	p.late = p.late[:0]
	for len(p.ready) >= chunkSize {
		p.out = append(p.out, packChunk(p.ready[:chunkSize], p.level))
		p.ready = p.ready[:copy(p.ready, p.ready[chunkSize:])]
	}
}

func (p *packer) finish() []chunk {
	p.flush()
	if len(p.ready) > 0 {
		p.out = append(p.out, packChunk(p.ready, p.level))
	}
	return p.out
}

// round rounds the starts of the list and sorts it.
func (cs *cells) round(level int) {
	if level > 0 && len(cs.list) > 0 {
		for i, c := range cs.list {
			cs.list[i] = c.rounded(level)
		}
		cs.sorted = 0
	}
	cs.compact()
}

// rounded returns a cell as it is kept at a level.
func (c cell) rounded(level int) cell {
	if level == 0 {
		return c
	}
	bin, rest := uint64(c>>cellBin)&^(1<<grainBits(level)-1), c&(1<<cellBin-1)
	if level >= 2 {
		rest = cell(noHost)<<cellHost | rest&cellLow
	}
	return cell(bin)<<cellBin | rest
}

// grainBits returns how many bits of a bin are given up at a level.
func grainBits(level int) int {
	if level <= 2 {
		return 3 * min(level, 1)
	}
	return 3 * (level - 1)
}

// chunk is a row of cells in little memory: the steps from bin to bin, the
// clients and the counts as varints. Most counts are one and take no room.
type chunk struct {
	first, last cell
	n           int
	level       int
	data        []byte
}

// chunkSize is how many cells are unpacked at once.
const chunkSize = 512

func packChunk(list []cell, level int) chunk {
	ch := chunk{first: list[0], last: list[len(list)-1], n: len(list), level: level}
	var buf []byte
	at, shift := uint64(list[0]>>cellBin), grainBits(level)
	for _, c := range list {
		bin, single := uint64(c>>cellBin), uint64(1)
		if c.n() > 1 {
			single = 0
		}
		buf = binary.AppendUvarint(buf, (bin-at)>>shift<<1|single)
		if level < 2 {
			buf = binary.AppendUvarint(buf, uint64(c.host()))
		}
		buf = append(buf, c.conns())
		if single == 0 {
			buf = binary.AppendUvarint(buf, c.n())
		}
		at = bin
	}
	ch.data = slices.Clip(slices.Clone(buf))
	return ch
}

// all gives the cells of a chunk.
func (ch *chunk) all() iter.Seq[cell] {
	return func(yield func(cell) bool) {
		b, at, shift := ch.data, uint64(ch.first>>cellBin), grainBits(ch.level)
		next := func() uint64 {
			v, n := binary.Uvarint(b)
			b = b[n:]
			return v
		}
		for range ch.n {
			step := next()
			at += step >> 1 << shift
			host, n := uint64(noHost), uint64(1)
			if ch.level < 2 {
				host = next()
			}
			conns := uint64(b[0])
			b = b[1:]
			if step&1 == 0 {
				n = next()
			}
			if !yield(cell(at<<cellBin | host<<cellHost | conns<<cellConn | n)) {
				return
			}
		}
	}
}
