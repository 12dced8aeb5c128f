package watch

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxLabels is how many subjects a metric names at most: the next teeth.
	maxLabels = 10
	// labelLength is where a subject is cut in a label.
	labelLength = 80
)

// Metrics offers what a Watcher knows to Prometheus. Nothing is counted twice:
// each scrape reads the State.
type Metrics struct {
	w      *Watcher
	clean  func(string) string
	Alerts AlertCounts

	up, hits, misses, evicted, keys, expired, own  *prometheus.Desc
	toothSeconds, toothKeys, events, going         *prometheus.Desc
	inFlight, running, keymiss, alerts, blind, age *prometheus.Desc
}

// AlertCounts count what became of the alerts.
type AlertCounts struct{ Sent, Held, Failed atomic.Uint64 }

// NewMetrics describes the metrics of a Watcher. clean makes untrusted text
// safe to show.
func NewMetrics(w *Watcher, clean func(string) string) *Metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("herdscan_"+name, help, labels, prometheus.Labels{"target": clean(w.Target())})
	}
	return &Metrics{
		w: w, clean: clean,
		up:           desc("up", "1 if the Redis told its counters at the last look, else 0."),
		hits:         desc("cache_hits_total", "Keyspace hits, without herdscan's own."),
		misses:       desc("cache_misses_total", "Keyspace misses, without herdscan's own."),
		evicted:      desc("cache_evictions_total", "Keys evicted."),
		keys:         desc("cache_keys", "Keys in all databases, expired ones that are not deleted yet included."),
		expired:      desc("keys_expired_total", "Keys whose deadline has passed, by the deadlines read before (not by the server's own counter, which lags)."),
		own:          desc("own_reads_total", "Keys that herdscan itself asked for; they are not in hits and misses."),
		toothSeconds: desc("next_tooth_seconds", "Time until a herd of keys expires. At most 10 herds, the next first.", "rule", "subject"),
		toothKeys:    desc("next_tooth_keys", "Keys of that herd.", "rule", "subject"),
		events:       desc("herd_events_total", "Events about herds.", "rule", "event"),
		going:        desc("herds_going_on", "Herds that have begun and not ended.", "rule"),
		inFlight:     desc("rebuilds_in_flight", "Clients that rebuild a key side by side now, as MONITOR shows it (--monitor)."),
		running:      desc("identical_statements_running", "Most copies of one statement that ran at the last look (MySQL)."),
		keymiss:      desc("key_misses_total", "keymiss events seen."),
		alerts:       desc("alerts_total", "Alerts by what became of them: sent, held (another watcher sent it, or it was sent within the window), failed.", "result"),
		blind:        desc("blind", "1 for each thing that can't be seen now, such as INFO or keymiss.", "what"),
		age:          desc("look_age_seconds", "Time since the keyspace was last read."),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, ch) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	now := m.w.now()
	s := m.w.State()
	counter := func(d *prometheus.Desc, x uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(x), labels...)
	}
	gauge := func(d *prometheus.Desc, x float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, labels...)
	}
	gauge(m.up, m.isUp(now, &s))
	counter(m.hits, s.Totals.Hits)
	counter(m.misses, s.Totals.Misses)
	counter(m.evicted, s.Totals.Evicted)
	counter(m.own, s.Totals.Own)
	counter(m.expired, s.Expired)
	counter(m.keymiss, s.Missed)
	gauge(m.keys, float64(s.Rates.Keys))
	gauge(m.inFlight, float64(s.InFlight))
	most := 0
	for _, r := range s.Running {
		most = max(most, r.Copies)
	}
	gauge(m.running, float64(most))
	if !s.ReadAt.IsZero() {
		gauge(m.age, now.Sub(s.ReadAt).Seconds())
	}
	counter(m.alerts, m.Alerts.Sent.Load(), "sent")
	counter(m.alerts, m.Alerts.Held.Load(), "held")
	counter(m.alerts, m.Alerts.Failed.Load(), "failed")
	m.teeth(now, &s, gauge)
	for kind, n := range s.Totals.Events {
		counter(m.events, n, kind.Rule, string(kind.Stage))
	}
	going := map[string]int{"HS401": 0, "HS410": 0, "HS411": 0}
	for _, h := range s.Herds {
		if h.Stage == Begins {
			going[h.Rule]++
		}
	}
	for rule, n := range going {
		gauge(m.going, float64(n), rule)
	}
	for _, l := range s.Limits {
		what, _, _ := strings.Cut(l, ":")
		gauge(m.blind, 1, what)
	}
}

func (m *Metrics) isUp(now time.Time, s *State) float64 {
	if now.Sub(s.Rates.At) < 3*m.w.opts.Pulse+pulseTimeout && len(s.Vitals) > 0 {
		return 1
	}
	return 0
}

// teeth names the next herds, one value for each subject.
func (m *Metrics) teeth(now time.Time, s *State, gauge func(*prometheus.Desc, float64, ...string)) {
	seen := make(map[string]bool)
	for _, t := range s.Forecast {
		subject := m.label(t.Subject)
		if in := t.From.Sub(now); in > 0 && !seen[subject] && len(seen) < maxLabels {
			seen[subject] = true
			gauge(m.toothSeconds, in.Seconds(), t.Rule, subject)
			gauge(m.toothKeys, float64(t.Keys), t.Rule, subject)
		}
	}
}

// label makes a subject fit for a label.
func (m *Metrics) label(subject string) string {
	r := []rune(m.clean(subject))
	if len(r) > labelLength {
		return string(r[:labelLength-1]) + "…"
	}
	return string(r)
}
