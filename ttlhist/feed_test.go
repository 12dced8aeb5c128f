package ttlhist

import (
	"bytes"
	"testing"

	"github.com/herdscan/herdscan/scan"
)

// TestFeeder has more keys than a batch, with names that are overwritten, are
// empty, and are longer than a batch.
func TestFeeder(t *testing.T) {
	keys := manyKeys(3, "names", 3*batchKeys)
	keys = append(keys, scan.Key{ExpireMS: scan.NoExpiry},
		scan.Key{Name: bytes.Repeat([]byte("x"), 3*batchNames), ExpireMS: testNow + 1},
		scan.Key{Name: []byte("a:1"), ExpireMS: testNow + 2})
	got := &Summary{}
	got.Begin(sum(nil).sources[0])
	f := got.Feed()
	var name []byte
	for _, k := range keys {
		name = append(name[:0], k.Name...)
		k.Name = name
		f.Add(&k)
		clear(name)
	}
	f.Close()
	sameState(t, "fed", state(sum(keys)), got)

	none := &Summary{}
	none.Feed().Close()
	if none.Keys() != 0 {
		t.Error("keys out of nothing")
	}
}
