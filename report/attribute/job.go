package attribute

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/cronlint"
)

// A job is one schedule, with all entries that fire at the same times while the
// evidence lasts: nothing can tell them apart but their names.
type job struct {
	entries  []*cronlint.Entry
	words    [][]string    // of the names and commands of the entries
	fires    []time.Time   // from a while before the evidence begins to its end
	interval time.Duration // between any two fires; 0: not constant
	counts   bool          // it counts from a start that is not known: fires is empty
	delay    time.Duration // that the command sleeps before it works
}

const (
	mostFires  = 200_000 // a schedule with more in the evidence fires too often to make a comb
	mostLag    = 120.0   // seconds from a fire to its tooth
	mostPlaces = 20      // entries of one suspect whose places are listed
)

// window is the time that the evidence speaks of.
func (a *analyser) window() (from, to time.Time) {
	if a.Log != nil {
		from, to = a.Log.From, a.Log.To
	}
	for _, c := range a.Caches {
		an := c.Analysis
		early := an.Snapshot.Add(-an.Total.MaxLeft)
		if a.Log == nil && (from.IsZero() || early.Before(from)) {
			from = early
		}
		if a.Log == nil && an.Snapshot.After(to) {
			to = an.Snapshot
		}
	}
	return from, to
}

// schedules lists the jobs that can fire, those that fire together as one.
func (a *analyser) schedules() []job {
	from, to := a.window()
	if from.IsZero() {
		return nil
	}
	const none = -1
	var out []job
	written, fired := map[string]int{}, map[uint64]int{} // where in out: by text, by fires
	for _, e := range a.Lint.Entries {
		if e.Schedule == nil || e.Disabled || e.Schedule.Reboot || e.Schedule.Drawn {
			continue
		}
		text := a.written(e)
		i, known := written[text]
		if !known {
			j := a.jobOf(e, from, to)
			key := j.key()
			switch at, same := fired[key]; {
			case len(j.fires) == 0 && !j.counts:
				i = none
			case same:
				i = at
			default:
				i = len(out)
				fired[key] = i
				out = append(out, j)
			}
			written[text] = i
		}
		if i != none {
			out[i].entries = append(out[i].entries, e)
			out[i].words = append(out[i].words, splitWords(e.Command+" "+cronlint.JobName(e)))
		}
	}
	return out
}

// written is the same for schedules that are written alike: most of a large
// crontab need not be laid out twice.
func (a *analyser) written(e *cronlint.Entry) string {
	zone := cmp.Or(e.Zone, e.Schedule.Zone, a.zone)
	return fmt.Sprint(e.Dialect, "|", e.Schedule.Text, "|", e.Schedule.Interval, "|", zone, "|", sleeps(e.Command))
}

func (a *analyser) jobOf(e *cronlint.Entry, from, to time.Time) job {
	j := job{delay: sleeps(e.Command)}
	if e.Schedule.Interval > 0 {
		j.counts, j.interval = true, e.Schedule.Interval
		return j
	}
	zone := cmp.Or(e.Zone, e.Schedule.Zone, a.zone)
	for t := range e.Schedule.Fires(from.Add(-time.Duration(mostLag*float64(time.Second))).In(zone), to) {
		if len(j.fires) == mostFires {
			break
		}
		j.fires = append(j.fires, t)
	}
	if len(j.fires) > 1 {
		j.interval = j.fires[1].Sub(j.fires[0])
		for i := 2; i < len(j.fires); i++ {
			if j.fires[i].Sub(j.fires[i-1]) != j.interval {
				j.interval = 0
				break
			}
		}
	}
	return j
}

// key is the same for jobs that the evidence can't tell apart.
func (j *job) key() uint64 {
	h := fnv.New64a()
	var b []byte
	b = binary.AppendVarint(b, int64(j.delay))
	if j.counts {
		b = binary.AppendVarint(b, int64(j.interval))
	}
	for _, t := range j.fires {
		b = binary.AppendVarint(b, t.UnixNano())
	}
	_, _ = h.Write(b) // never fails
	return h.Sum64()
}

var sleepCommand = regexp.MustCompile(`(?:^|[;&|(]\s*)sleep\s+(\d+(?:\.\d+)?)([smh]?)\s*(?:;|&&)`)

// sleeps returns how long a command waits before it does anything.
func sleeps(command string) time.Duration {
	m := sleepCommand.FindStringSubmatch(command)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	unit := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[m[2]]
	if err != nil || n*unit > 86400 {
		return 0
	}
	return seconds(n * unit)
}

// place writes where an entry stands.
func place(e *cronlint.Entry) string {
	l := e.Location()
	return fmt.Sprintf("%s:%d", l.File, l.Line)
}

// called orders the entries by how much their names are like the statements',
// and returns what the best is worth.
func (j *job) called(v vocabulary) (entries []*cronlint.Entry, nats float64, alike []string) {
	type scored struct {
		e     *cronlint.Entry
		nats  float64
		alike []string
	}
	var list []scored
	for i, e := range j.entries {
		n, w := v.match(j.words[i])
		list = append(list, scored{e, n, w})
	}
	slices.SortStableFunc(list, func(x, y scored) int { return cmp.Compare(y.nats, x.nats) })
	for _, x := range list {
		entries = append(entries, x.e)
	}
	return entries, list[0].nats, list[0].alike
}

// jobSuspects weighs every schedule as the cause of a comb, and as that of the
// keys whose death is the cause.
func (a *analyser) jobSuspects(s *subject) []Suspect {
	var out []Suspect
	for i := range a.jobs {
		j := &a.jobs[i]
		c := a.jobSuspect(s, j)
		out = append(out, c)
		if !c.refuted() {
			out = append(out, a.warmUps(s, j)...)
		}
	}
	return out
}

// newJobSuspect starts the weighing of a job.
func (j *job) newSuspect(s *subject, k Kind) Suspect {
	entries, nats, alike := j.called(s.words)
	c := Suspect{Kind: k, Cache: -1, Entries: entries, Name: place(entries[0])}
	if n := len(entries) - 1; n > 0 {
		c.Name += fmt.Sprintf(" and %d more", n)
	}
	for _, e := range entries[:min(len(entries), mostPlaces)] {
		c.Locations = append(c.Locations, e.Location())
	}
	if nats > 0 {
		c.say(nats, "its command is like the statements (%s)", list(alike, 3))
	} else {
		c.add(-1, "")
	}
	return c
}

func (a *analyser) jobSuspect(s *subject, j *job) Suspect {
	kind := Cron
	if s.batch {
		kind = ReplicaJob
	}
	c := j.newSuspect(s, kind)
	a.weighFires(s, &c, j)
	if c.refuted() {
		return c
	}
	if s.batch {
		c.say(8, "%d clients send the same batch in each tooth", s.log.HostsATooth)
	} else {
		s.weighOneHost(&c)
	}
	return c
}

// weighFires weighs the times of the teeth against those of the fires.
func (a *analyser) weighFires(s *subject, c *Suspect, j *job) {
	if j.counts {
		a.weighInterval(s, c, j)
		return
	}
	if per, off := s.against(j); off {
		c.add(s.timing()/2, "") // the first that people suspect: it has the right period
		c.refute("it fires every %s, but the teeth drift %s an hour against it", dur(j.interval), dur(seconds(per*3600/s.period)))
		return
	}
	lag, met, fires := s.lagTo(j)
	teeth := s.teeth()
	c.Delta = seconds(lag)
	switch {
	case fires == 0:
		c.refute("it does not fire while the log lasts")
		return
	case 2*met < teeth || met < 2:
		c.refute("only %d of %d teeth begin at one distance, of at most %s, after one of its %d fires", met, teeth, dur(seconds(mostLag)), fires)
		return
	}
	c.say(s.timing()*float64(met)/float64(teeth), "%d of %d teeth begin %s a fire", met, teeth, after(lag, s.res))
	s.weighLag(c, j, lag)
	if n := teeth - met; n > 0 {
		c.say(stray*float64(n), "%d of %d teeth come without a fire", n, teeth)
	}
	if n := fires - met - s.unseen(); n > 0 {
		c.say(max(unmet*float64(n), 2*unmet*float64(teeth)), "%d of its %d fires have no tooth", fires-met, fires)
	}
	if s.lock == comb.WallClock {
		firm, _ := s.firmness()
		c.say(3*firm, "the teeth keep their place on the wall clock")
	}
}

// unseen is how many teeth the detector may have missed that any train on this
// clock lacks: those it says are missing, and, where the teeth scatter so much
// that it loses them, those that the statements outside of teeth are enough for.
func (s *subject) unseen() int {
	n := s.comb.Missing
	if f := s.log; s.spread > 2*max(s.res, 1) && s.comb.Height > 0 && f.Of > f.Count {
		n = max(n, min(int(float64(f.Of-f.Count)/s.comb.Height+0.5), s.teeth()))
	}
	return n
}

// after writes how long after a fire teeth begin, as far as the stamps tell.
func after(lag, res float64) string {
	if least := max(res, 0.1); lag < least {
		return "within " + dur(seconds(least)) + " of"
	}
	return dur(seconds(lag)) + " after"
}

// weighLag weighs how long after a fire the teeth begin: a job starts at once,
// or after the sleep that its command begins with.
func (s *subject) weighLag(c *Suspect, j *job, lag float64) {
	late := math.Abs(lag - j.delay.Seconds())
	switch {
	case late <= 3+s.res && j.delay > 0:
		c.say(2, "that is the sleep of %s in its command", dur(j.delay))
	case late <= 3+s.res:
		c.add(1.5, "")
	case j.delay > 0:
		c.say(-1.5-0.02*late, "its command sleeps %s", dur(j.delay))
	default:
		c.say(-1.5-0.02*late, "a job begins sooner than %s after its fire, unless something holds it back", dur(seconds(lag)))
	}
}

// against returns how much the teeth drift a period against a job that fires at
// a constant interval, and whether that is too much for the job: more than four
// standard errors, and in all more than the stamps and the scatter of the teeth.
func (s *subject) against(j *job) (per float64, off bool) {
	if j.interval == 0 || s.teeth() < 3 {
		return 0, false
	}
	every := j.interval.Seconds()
	n := math.Round(s.period / every)
	if n < 1 || math.Abs(s.period-n*every) > 0.1*every {
		return 0, false // another period, not a drift
	}
	per, err, scatter, run := s.drift(n * every)
	return per, math.Abs(per) > 4*err && math.Abs(per)*run > max(2.01*s.res, 3.5*scatter*(1+3/float64(s.teeth())))
}

// drift fits how much later than a clock of the given period the teeth come,
// seconds a period, with its standard error, the scatter of the teeth about it,
// and the periods of the longest run of teeth. A train that a restart has set to
// a new phase is several runs with one drift.
func (s *subject) drift(clock float64) (per, err, scatter, longest float64) {
	var runs []run
	for i, t := range s.onsets {
		k := math.Round((t - s.onsets[0]) / s.period)
		if i == 0 || s.jumps(i) {
			runs = append(runs, run{})
		}
		runs[len(runs)-1].add(k, t-k*clock)
	}
	var sxx, sxy, syy, n float64
	for i := range runs {
		r := &runs[i]
		sxx, sxy, syy, n = sxx+r.xx(), sxy+r.xy(), syy+r.yy(), n+r.n-1
		longest = max(longest, r.last-r.first)
	}
	if sxx <= 0 || n < 2 {
		return 0, math.Inf(1), 0, longest
	}
	per = sxy / sxx
	scatter = math.Sqrt(max(0, syy-per*sxy) / max(n-1, 1))
	return per, scatter / math.Sqrt(sxx), scatter, longest
}

// jumps says whether tooth i begins a run of a new phase.
func (s *subject) jumps(i int) bool {
	gap := s.onsets[i] - s.onsets[i-1]
	n := max(1, math.Round(gap/s.period))
	return math.Abs(gap-n*s.period) > max(6*s.spread, 3*s.res, 0.02*s.period)*math.Sqrt(n)
}

// A run sums up points for a line.
type run struct {
	n, sx, sy, sxx, sxy, syy float64
	x0, y0                   float64 // of the first point: sums are from there
	first, last              float64
}

func (r *run) add(x, y float64) {
	if r.n == 0 {
		r.x0, r.y0, r.first = x, y, x
	}
	r.last = x
	x, y = x-r.x0, y-r.y0
	r.n, r.sx, r.sy, r.sxx, r.sxy, r.syy = r.n+1, r.sx+x, r.sy+y, r.sxx+x*x, r.sxy+x*y, r.syy+y*y
}

func (r *run) xx() float64 { return r.sxx - r.sx*r.sx/r.n }
func (r *run) xy() float64 { return r.sxy - r.sx*r.sy/r.n }
func (r *run) yy() float64 { return r.syy - r.sy*r.sy/r.n }

// lagTo returns the distance from a fire at which most teeth begin, how many
// do, and how many fires the log has room for.
func (s *subject) lagTo(j *job) (lag float64, met, fires int) {
	window := max(2*s.res, 4*s.spread, 2)
	most := mostLag + j.delay.Seconds()
	var lags []float64
	for _, t := range s.onsets {
		i, _ := slices.BinarySearchFunc(j.fires, s.time(t+s.res), time.Time.Compare)
		if i == 0 {
			continue
		}
		if lag := t - j.fires[i-1].Sub(s.start).Seconds(); lag <= most {
			lags = append(lags, lag)
		}
	}
	slices.Sort(lags)
	best := 0
	for lo, hi := 0, 0; lo < len(lags); lo++ {
		for hi < len(lags) && lags[hi] <= lags[lo]+window {
			hi++
		}
		if hi-lo > met {
			met, best = hi-lo, lo
		}
	}
	if met > 0 {
		lag = lags[best+met/2]
	}
	from, _ := slices.BinarySearchFunc(j.fires, s.time(s.res-lag), time.Time.Compare)
	to, _ := slices.BinarySearchFunc(j.fires, s.time(s.span-s.width-s.res-lag), time.Time.Compare)
	return lag, met, max(to-from, met)
}

// weighInterval weighs a timer that counts from a start of its own: its period
// is known, its phase is not.
func (a *analyser) weighInterval(s *subject, c *Suspect, j *job) {
	rest := s.period - j.interval.Seconds()
	c.Delta = seconds(rest)
	if rest < -s.slack() || rest > max(1, 0.02*j.interval.Seconds())+s.slowest+s.slack() {
		c.refute("it runs every %s, the teeth come every %s", dur(j.interval), dur(s.comb.Period))
		return
	}
	c.say(s.timing(), "it runs every %s, from a start that is not known here", dur(j.interval))
}
