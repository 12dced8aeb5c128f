package attribute

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/ttlhist"
)

// A subject is one herd to be attributed, with the facts that the weighing
// needs. Times are seconds from the start of the log.
type subject struct {
	finding  int
	cache    int // -1: of the query log
	severity rule.Severity
	log      *querylog.Finding
	keys     *ttlhist.Finding

	comb    *comb.Comb
	onsets  []float64 // of the teeth
	heights []float64
	start   time.Time // that the seconds count from
	span    float64   // of the log, seconds
	res     float64   // of its stamps, seconds
	period  float64
	perErr  float64
	spread  float64 // of the intervals around the period, seconds
	width   float64 // of a tooth
	steps   float64 // periods from the first tooth to the last
	lock    comb.Lock

	rebuilds []float64 // median durations of the statements that take part, ascending; empty: unknown
	slowest  float64   // the 95th percentile of the slowest of them
	reads    float64   // share of statements that a cache could answer
	hot      bool      // most of a tooth is one text
	batch    bool      // every client sends the same
	single   bool      // one refill a process
	missing  bool      // HS506: rows that do not exist
	storm    bool      // HS505: waves that the log itself shows to follow an outage
	words    vocabulary
}

// once says whether the herd came once rather than again and again.
func (s *subject) once() bool { return s.cache < 0 && s.comb == nil && !s.missing && len(s.onsets) < 3 }

// findSubjects lists the herds of the evidence: those of the log, then those of
// the caches, which join the former where the keys are their cause.
func (a *analyser) findSubjects() []subject {
	var out []subject
	if a.Log != nil {
		for i := range a.Log.Findings {
			f := &a.Log.Findings[i]
			if f.Rule == "HS507" || f.Artefact || len(f.Causes) == 0 || len(f.Teeth) == 0 && f.Rule != "HS506" {
				continue
			}
			out = append(out, a.logSubject(i, f))
		}
	}
	for c := range a.Caches {
		an := a.Caches[c].Analysis
		for i := range an.Findings {
			if f := &an.Findings[i]; f.Rule == "HS401" && f.Herd != nil && f.Severity > rule.Note {
				out = append(out, subject{finding: i, cache: c, severity: f.Severity, keys: f, start: an.Snapshot, words: vocabulary{}})
			}
		}
	}
	return out
}

// logSubject collects the facts about a herd of the query log.
func (a *analyser) logSubject(i int, f *querylog.Finding) subject {
	s := subject{
		finding: i, cache: -1, severity: f.Severity, log: f, comb: f.Comb, start: a.Log.From,
		span: a.Log.To.Sub(a.Log.From).Seconds(), res: max(a.Log.Resolution, comb.FineBin).Seconds(),
		missing: f.Rule == "HS506", storm: f.Rule == "HS505",
	}
	if s.comb != nil && (s.comb.Period <= 0 || len(f.Teeth) < 2) {
		s.comb = nil // a herd of an unfinished summary: no train of teeth
	}
	for _, t := range f.Teeth {
		s.onsets = append(s.onsets, t.At.Sub(s.start).Seconds())
		s.heights = append(s.heights, float64(t.Count))
	}
	s.measure()
	s.statements()
	for _, c := range f.Causes {
		s.batch = s.batch || c.Kind == querylog.CauseReplicaJob
	}
	s.hot = f.Identical >= 0.5 && s.reads >= 0.5 && !s.batch
	s.single = s.hot && f.HostsATooth > 1 && s.comb != nil && s.comb.Height <= 1.25*float64(f.HostsATooth)
	return s
}

// measure measures the teeth.
func (s *subject) measure() {
	if s.comb == nil {
		for _, t := range s.log.Teeth {
			s.width = max(s.width, t.Width.Seconds())
		}
		return
	}
	c := s.comb
	s.period, s.perErr, s.lock = c.Period.Seconds(), c.PeriodErr.Seconds(), c.Lock
	s.width = min(c.Width.Seconds(), s.period/4)
	var off []float64
	for i := 1; i < len(s.onsets); i++ {
		gap := s.onsets[i] - s.onsets[i-1]
		n := max(1, math.Round(gap/s.period))
		s.steps += n
		if n == 1 {
			off = append(off, math.Abs(gap-s.period))
		}
	}
	s.steps = max(s.steps, 1)
	s.spread = max(1.4826*median(off), s.res/2)
	if s.perErr == 0 {
		s.perErr = s.spread / s.steps
	}
}

// statements sums up what the members say.
func (s *subject) statements() {
	var reads, all float64
	s.words = vocabulary{}
	for _, m := range s.log.Members {
		if m.Follower {
			continue
		}
		all += float64(m.Count)
		if isRead(&m) {
			reads += float64(m.Count)
		}
		if m.Timed > 0 {
			s.rebuilds = append(s.rebuilds, m.Median.Seconds())
			s.slowest = max(s.slowest, m.P95.Seconds())
		}
		s.words.statement(&m)
	}
	slices.Sort(s.rebuilds)
	s.reads = reads / max(all, 1)
}

// isRead says whether a cache could answer a statement.
func isRead(c *querylog.Class) bool {
	return !c.Follower && (c.Verb == "select" || c.Verb == "with") &&
		!strings.HasSuffix(c.Shape, " for update") && !strings.Contains(c.Shape, " for update ") && !strings.Contains(c.Shape, " in share mode")
}

// rebuild is the time that refilling a key takes, 0 if unknown: of the slowest
// statement, because the last to finish writes the key again.
func (s *subject) rebuild() float64 {
	if len(s.rebuilds) == 0 {
		return 0
	}
	return s.rebuilds[len(s.rebuilds)-1]
}

// teeth is the number of teeth.
func (s *subject) teeth() int { return len(s.onsets) }

// alone says whether a tooth is one connection's work.
func (s *subject) alone() bool { return s.log.HostsATooth == 1 && s.log.ConnsATooth <= 1 }

// time turns seconds of the log into an instant.
func (s *subject) time(sec float64) time.Time {
	return s.start.Add(time.Duration(sec * float64(time.Second)))
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// seconds turns seconds into a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
