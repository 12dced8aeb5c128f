package ttlhist

import "github.com/herdscan/herdscan/scan"

const (
	batchKeys  = 512
	batchNames = 64 << 10 // bytes
	batches    = 4
)

// A Feeder adds keys to a Summary on a goroutine of its own: whoever reads
// keys need not wait until they are counted. They are counted in their order.
type Feeder struct {
	cur        *batch
	full, free chan *batch
	done       chan struct{}
}

// A batch is keys on their way and the bytes of their names.
type batch struct {
	keys  []scan.Key
	names []byte
}

// Feed starts a Feeder. The Summary must be left alone until Close returns.
func (s *Summary) Feed() *Feeder {
	f := &Feeder{full: make(chan *batch, batches), free: make(chan *batch, batches), done: make(chan struct{})}
	for range batches {
		f.free <- &batch{keys: make([]scan.Key, 0, batchKeys), names: make([]byte, 0, batchNames)}
	}
	f.cur = <-f.free
	go func() {
		defer close(f.done)
		for b := range f.full {
			for i := range b.keys {
				s.Add(&b.keys[i])
			}
			b.keys, b.names = b.keys[:0], b.names[:0]
			f.free <- b // never blocks: it has room for all batches
		}
	}()
	return f
}

// Add counts one key, sooner or later. It keeps nothing of k but copies.
func (f *Feeder) Add(k *scan.Key) {
	b := f.cur
	if len(b.keys) == cap(b.keys) || len(b.names) > 0 && len(b.names)+len(k.Name) > cap(b.names) {
		f.full <- b
		b = <-f.free
		f.cur = b
	}
	// A name longer than the room makes more, before others point into it.
	at := len(b.names)
	b.names = append(b.names, k.Name...)
	b.keys = append(b.keys, *k)
	b.keys[len(b.keys)-1].Name = b.names[at:len(b.names):len(b.names)]
}

// Close waits until all keys are counted. The Feeder must not be used again.
func (f *Feeder) Close() {
	f.full <- f.cur
	close(f.full)
	<-f.done
}
