package querylog

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// herd is one comb with what the rules need to know about it.
type herd struct {
	f       Finding
	comb    comb.Comb
	family  comb.Family // as the detector gave it
	main    *class
	classes []*class // that may be the cause, the main one first
	crowds  []crowd  // of the teeth
	replica bool     // every client sends the same batch
	single  bool     // one refill a process: single flight
}

// combs reports HS501, and HS503 where a comb is a job run once per replica.
func (a *analyser) combs() {
	var herds []*herd
	for _, fam := range a.families() {
		if h := a.herdOf(fam); h != nil {
			herds = append(herds, h)
		}
	}
	for _, h := range a.unite(herds) {
		a.report(h)
	}
}

// longLog is the span from which a first look in whole seconds saves most of
// the work and hides nothing but combs faster than some five seconds.
const longLog = 2 * time.Hour

// fineTooth is how narrow teeth are that a look in fine bins tells more about.
const fineTooth = 3 * time.Second

// families finds the combs of all statements. Long logs are looked at in
// whole seconds first; what shows narrow teeth is then looked at in fine bins.
func (a *analyser) families() []comb.Family {
	fine := time.Duration(a.bin)
	if fine >= time.Second || a.span < longLog {
		return a.detect(a.classes, fine)
	}
	coarse := a.detect(a.classes, time.Second)
	narrow := map[*class]bool{}
	var wide []comb.Family
	for _, f := range coarse {
		if f.Comb.Width > fineTooth {
			wide = append(wide, f)
			continue
		}
		for _, m := range f.Members {
			narrow[a.classes[m.Index]] = true
		}
	}
	var again []*class
	for _, c := range a.classes {
		if narrow[c] {
			again = append(again, c)
		}
	}
	if len(again) == 0 {
		return coarse
	}
	found := a.detect(again, fine)
	if len(found) == 0 {
		return coarse
	}
	out := wide
	for _, f := range found {
		if slices.ContainsFunc(wide, func(w comb.Family) bool { return samePeriod(w.Comb, f.Comb) && f.Comb.Width > fineTooth }) {
			continue // of a class that is in both
		}
		for k := range f.Members {
			f.Members[k].Index = slices.Index(a.classes, again[f.Members[k].Index])
		}
		out = append(out, f)
	}
	return out
}

// samePeriod says whether two combs differ by at most one percent.
func samePeriod(a, b comb.Comb) bool {
	return math.Abs(float64(a.Period)/float64(b.Period)-1) < 0.01
}

// detect runs the detector over classes and keeps what it finds in each.
func (a *analyser) detect(classes []*class, bin time.Duration) []comb.Family {
	named := make([]comb.Named, len(classes))
	for i, c := range classes {
		named[i] = comb.Named{Name: c.shape, Fill: func(s *comb.Series) { c.series(s, bin) }, Follower: c.follower}
	}
	o := a.options(len(a.classes))
	o.Resolution = bin
	each, families := comb.DetectFamilies(named, o)
	for i, r := range each {
		a.results[classes[i]] = r
	}
	return families
}

// herdOf collects what is known about a family. It returns nil for one that
// is the echo of something else.
func (a *analyser) herdOf(fam comb.Family) *herd {
	h := &herd{comb: fam.Comb, family: fam, f: Finding{Rule: "HS501", Severity: rule.Warning}}
	h.comb.Lock = soberLock(h.comb)
	h.comb.Missing = min(h.comb.Missing, lacking(h.comb))
	var stormy int
	for _, t := range fam.Comb.Teeth {
		if a.taken(t.At) {
			stormy++
		}
	}
	if 2*stormy >= len(fam.Comb.Teeth) {
		return nil
	}
	for _, m := range fam.Members {
		c := a.classes[m.Index]
		member := a.member(c, m.Count)
		member.Comb = a.ownComb(c, &fam.Comb)
		h.f.Members = append(h.f.Members, member)
		h.f.Of += c.n
		if !m.Follower {
			h.classes = append(h.classes, c)
		}
	}
	if len(h.classes) == 0 {
		return a.followersOnly(h, fam)
	}
	h.main = h.classes[0]
	h.f.Subject = h.main.shape
	h.f.Comb = &h.comb
	h.f.Teeth = h.comb.Teeth
	h.crowds = a.gather(&h.f, h.classes, h.comb.Teeth)
	for _, cr := range h.crowds {
		h.f.Avoidable += cr.repeats
	}
	h.f.Second = h.comb.Peak
	a.centre(h, fam)
	for _, c := range h.classes {
		h.f.Texts += c.texts.distinct()
	}
	h.replica, h.single = a.batches(h)
	a.scaleHerd(h)
	return h
}

// alike is how far, as a share, the period of a member may be from that of its
// herd: keys of one TTL take different times to rebuild.
const alike = 0.05

// ownComb is the comb that a class has by itself within one of several classes.
func (a *analyser) ownComb(c *class, of *comb.Comb) *comb.Comb {
	for i := range a.results[c].Combs {
		own := &a.results[c].Combs[i]
		if math.Abs(float64(own.Period)/float64(of.Period)-1) < alike {
			return own
		}
	}
	return nil
}

// soberLock takes back a lock to the wall clock that the drift contradicts:
// with stamps of whole seconds a few teeth can stay within one second of a
// schedule although each comes a little later.
func soberLock(c comb.Comb) comb.Lock {
	if c.Lock == comb.WallClock && c.DriftErr > 0 && c.Drift.Abs() > 3*c.DriftErr {
		return comb.Undetermined
	}
	return c.Lock
}

// lacking counts the teeth that are not there between the first one seen and
// the last.
func lacking(c comb.Comb) (n int) {
	for i := 1; i < len(c.Teeth); i++ {
		gap := float64(c.Teeth[i].At.Sub(c.Teeth[i-1].At))
		n += max(0, int(math.Round(gap/float64(c.Period)))-1)
	}
	return n
}

// newPhase is how far from its place, in periods, a tooth begins a new train of
// the same herd.
const newPhase = 0.1

// centre corrects the period of a self-timed family. Its statements take
// different times to rebuild and so drift apart from tooth to tooth: the front
// of the teeth keeps the period of the fastest, their middle that of the herd.
func (a *analyser) centre(h *herd, fam comb.Family) {
	own := 0
	for _, m := range fam.Members {
		if m.Own && !m.Follower {
			own++
		}
	}
	if own < 2 || h.comb.Lock == comb.WallClock || len(h.comb.Teeth) < 4 {
		return
	}
	first, period := h.comb.Teeth[0].At, float64(h.comb.Period)
	var n, sx, sy, sxx, sxy, k, jump float64
	before := first
	for _, t := range h.comb.Teeth {
		var sum, count float64
		for _, c := range h.classes {
			for _, x := range c.in(a.windowOf(t)) {
				sum += float64(x.n()) * float64(x.at()-first.UnixNano())
				count += float64(x.n())
			}
		}
		if count == 0 {
			return
		}
		step := float64(t.At.Sub(before))
		periods := math.Round(step / period)
		if off := step - periods*period; math.Abs(off) > newPhase*period {
			jump += off // everything was filled anew: a deploy, a flush
		}
		k, before = k+periods, t.At
		mid := sum/count - jump
		n, sx, sy, sxx, sxy = n+1, sx+k, sy+mid, sxx+k*k, sxy+k*mid
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	if math.Abs(slope/period-1) > 0.03 {
		return // not the same teeth
	}
	h.comb.Drift += time.Duration(slope) - h.comb.Period
	h.comb.Period = time.Duration(slope)
}

// followersOnly keeps connects that come in waves without any statement: a pool that is too small, or refused logins.
func (a *analyser) followersOnly(h *herd, fam comb.Family) *herd {
	for _, m := range fam.Members {
		if c := a.classes[m.Index]; c.shape == "connect" || c.shape == "denied" {
			h.main, h.classes = c, []*class{c}
			h.f.Subject, h.f.Comb, h.f.Teeth = c.shape, &h.comb, h.comb.Teeth
			h.crowds = a.gather(&h.f, h.classes, h.comb.Teeth)
			h.f.Second = h.comb.Peak
			a.scaleHerd(h)
			return h
		}
	}
	return nil
}

// batches says whether every client sends the same batch in a tooth, and
// whether that batch is a single read: one refill a process. Batches with
// different texts count only on the wall clock and for most of the log: load
// that is balanced well looks the same for a while.
func (a *analyser) batches(h *herd) (replica, single bool) {
	same, alike, one := 0, 0, 0
	for _, cr := range h.crowds {
		if cr.hosts() < 2 {
			continue
		}
		if 5*cr.shared >= 3*cr.n && cr.most >= cr.hosts()-cr.hosts()/4 {
			same++
			if cr.texts == 1 && cr.n <= uint64(cr.hosts())*5/4 {
				one++
			}
		}
		if cr.even() && cr.n >= 2*uint64(cr.hosts()) {
			alike++
		}
	}
	n := len(h.crowds)
	batch := 5*same >= 3*n
	single = batch && 2*one > same && isRead(h.main.shape) && h.comb.Lock != comb.WallClock
	if single {
		return false, true
	}
	life := h.comb.Teeth[n-1].At.Sub(h.comb.Teeth[0].At)
	return batch || 5*alike >= 4*n && h.comb.Lock == comb.WallClock && 2*life > a.span, false
}

// report judges a herd and adds its findings.
func (a *analyser) report(h *herd) {
	f := &h.f
	a.severity(h)
	if ttl, ok := a.ttlOf(h); ok {
		f.TTL = ttl
	}
	f.Causes = a.combCauses(h)
	f.Fix = a.fixComb(h)
	if c := f.Causes[0]; c.Kind == CauseRetry && c.Score >= 0.6 {
		f.Rule, f.Spacing, f.Growth, f.Avoidable = "HS505", h.comb.Period, 1, 0
		f.Fix = fixRetry(f)
		if a.out.Folded.Clients && a.ownBatch(h) && a.harms(h.comb) && !h.main.artefact() {
			f.Severity, f.Reason = rule.Warning, "" // who it came from is not kept, and nothing speaks for one client
		}
	}
	if h.replica {
		f.Also = append(f.Also, "HS503")
	}
	a.add(*f)
	if h.replica {
		a.replicas(h)
	}
}

// severity weighs the harm of a comb: not that it is periodic, but what comes at once.
func (a *analyser) severity(h *herd) {
	f := &h.f
	switch {
	case h.main.artefact():
		f.Artefact = true
		f.note("made by the server, its host or by monitoring")
	case !a.harms(h.comb):
		f.note(fmt.Sprintf("%.0f statements a tooth: too few to harm", h.comb.Height))
	case h.main.admin:
		f.note("connections only: they follow a herd that the log does not show")
	case h.single:
		f.note("one refill a process: single flight at work")
	case a.ownBatch(h):
		f.note(batchReason(f))
	}
}

// batchReason says what is known of who sent a batch.
func batchReason(f *Finding) string {
	switch {
	case f.ConnsATooth == 1:
		return "one job's own batch, from one client over one connection"
	case f.HostsATooth == 1:
		return "one job's own batch, from one client"
	}
	return "a batch of one or two statements, and nothing tells that it came from more than one client"
}

// ownBatch says whether the teeth are one job that runs its statements one
// after the other: one client and one connection, or, where the log names no
// connections, no more statements than a job has.
func (a *analyser) ownBatch(h *herd) bool {
	switch {
	case h.f.HostsATooth > 1:
		return false
	case h.f.ConnsATooth > 0:
		return h.f.ConnsATooth <= 1
	}
	return len(h.classes) <= 2
}

// replicas reports HS503 for a comb that is one batch from every client.
func (a *analyser) replicas(h *herd) {
	f := h.f
	f.PartOf, f.PartOfRule, f.Also = f.fingerprint(), f.Rule, nil
	f.Rule, f.Severity, f.Reason = "HS503", rule.Warning, ""
	hosts := uint64(max(f.HostsATooth, 1))
	f.Avoidable = f.Count - f.Count/hosts
	perHost := h.comb.Height / float64(hosts)
	if h.main.artefact() || h.comb.Height < 7 {
		f.note(fmt.Sprintf("%.0f statements a run: too few to harm", perHost))
	}
	f.Causes = slices.DeleteFunc(slices.Clone(f.Causes), func(c Cause) bool { return c.Kind != CauseReplicaJob && c.Kind != CauseCron })
	f.Fix = fixReplica(&f)
	a.add(f)
}
