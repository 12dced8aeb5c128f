package scan_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
)

func TestSampleShare(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const n = 50_000
	fill(t, s, 0, n)
	url := "redis://" + s.Addr
	for name, c := range map[string]struct {
		o    scan.Options
		want float64
	}{
		"tenth":           {scan.Options{URL: url, Sample: 0.1}, 0.1},
		"half":            {scan.Options{URL: url, Sample: 0.5}, 0.5},
		"most is all":     {scan.Options{URL: url, Sample: 0.9}, 1},
		"keys":            {scan.Options{URL: url, MaxKeys: 2000}, 0.04},
		"keys over share": {scan.Options{URL: url, Sample: 0.01, MaxKeys: 40_000}, 0.01},
		"more than there": {scan.Options{URL: url, MaxKeys: 2 * n}, 1},
		"several chains":  {scan.Options{URL: url, Sample: 0.1, Chains: 4}, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, c.o)
			got, err := read(t, r)
			if err != nil {
				t.Fatal(err)
			}
			cov := r.Coverage()[0]
			if !cov.Complete || math.Abs(cov.Sampled-c.want) > 0.15*c.want {
				t.Errorf("coverage is %+v, want a share of %g", cov, c.want)
			}
			// The share tells how many keys there are.
			tolerance := 4 / math.Sqrt(float64(len(got))) * n
			if estimate := float64(len(got)) / cov.Sampled; math.Abs(estimate-n) > tolerance {
				t.Errorf("%d keys at %g make %.0f, want %d", len(got), cov.Sampled, estimate, n)
			}
		})
	}
}

// TestSampleIsFair draws many samples and looks how often each key was in one: the counts must vary no more than
// those of independent draws do.
func TestSampleIsFair(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const keys, draws = 5000, 100
	fill(t, s, 0, keys)
	counts := make(map[string]float64)
	var total, squares float64
	for i := range draws {
		r := open(t, scan.Options{URL: "redis://" + s.Addr, Sample: 0.1, Seed: uint64(i + 1), Duty: 1})
		got, err := read(t, r)
		if err != nil {
			t.Fatal(err)
		}
		for k := range got {
			counts[k]++
			total++
		}
	}
	mean := total / keys
	least, most := math.Inf(1), 0.0
	for i := range keys {
		n := counts["0/key:0:"+strconv.Itoa(i)]
		squares += (n - mean) * (n - mean)
		least, most = min(least, n), max(most, n)
	}
	// A binomial has a variance of 0.9 times its mean here.
	if dispersion := squares / keys / mean; dispersion < 0.6 || dispersion > 1.4 {
		t.Errorf("variance / mean is %.2f (mean %.1f, least %.0f, most %.0f)", dispersion, mean, least, most)
	}
}

func TestSampleOfCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	want := fillCluster(t, c, 12_000)
	r := open(t, scan.Options{URL: "redis-cluster://" + c.Primaries[0].Addr, MaxKeys: 2400})
	got, err := read(t, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < 2000 || len(got) > 2900 {
		t.Errorf("%d keys, want about 2400", len(got))
	}
	estimate := 0.0
	for _, part := range r.Coverage() {
		estimate += float64(part.Read) / part.Sampled
	}
	if math.Abs(estimate-float64(len(want))) > 0.1*float64(len(want)) {
		t.Errorf("the sample makes %.0f keys, want %d", estimate, len(want))
	}
}
