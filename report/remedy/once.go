package remedy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// runOnce lets one replica run a job.
func runOnce(c Case) Remedy {
	r := Remedy{Name: RunOnce, Helps: Yes, Text: fmt.Sprintf("run the job once, not on each replica: claim it in Redis for %s, and run anyway when Redis does not answer", secs(c.window()))}
	switch {
	case c.Kind == CronPileUp && c.Processes < 2:
		r.Helps, r.Why = No, "these are different jobs, not copies of one"
	case c.Kind == CronPileUp:
		r.Helps = Partly
		r.Why = fmt.Sprintf("only if the %d hosts run the same jobs", c.Processes)
	case c.Processes < 2:
		r.Why = "one run remains; how many replicas there are is not known"
	default:
		r.Text = fmt.Sprintf("run the job once, not on %d replicas: claim it in Redis for %s, and run anyway when Redis does not answer", c.Processes, secs(c.window()))
		r.Why = "one run of the same work remains"
		after := math.Ceil(c.before() / float64(c.Processes))
		if r.Effect = c.effect(after); r.Effect != nil {
			r.Curve = c.curve(burst(c.before(), c.Total, c.Width), burst(after, c.Total/float64(c.Processes), c.Width), 0, 0)
		}
	}
	return r
}

// window is how long a claim holds: nine tenths of the period, so that the last
// claim has ended when the next run is due, and clocks may differ.
func (c Case) window() time.Duration {
	if c.Period <= 0 {
		return time.Minute
	}
	return max((c.Period * 9 / 10).Truncate(time.Second), time.Second)
}

// spread starts jobs, or the replicas of one, at different times.
func spread(c Case) Remedy {
	r := Remedy{Name: Spread, Text: "start the jobs at different times"}
	if c.Period > 0 {
		r.Text = fmt.Sprintf("spread the starts over the %s between two of them", secs(c.Period))
	}
	if c.Kind == ReplicaJob {
		r.Helps, r.Text = Partly, "let each replica wait for a random part of the period before it starts"
		r.Why = "less comes at once, but the same work is still done by each replica"
		if c.Processes > 1 {
			r.Effect = c.effect(math.Ceil(c.before() / float64(c.Processes)))
		}
		return r
	}
	if c.Jobs == 1 {
		r.Helps, r.Why = No, "there is one job: only its own work could be spread"
		return r
	}
	r.Helps, r.Why = Yes, "jobs of different people choose the same round minute"
	if at := c.freeMinutes(); len(at) > 0 {
		r.Text += ": minutes " + at
	}
	after := c.Largest
	if after <= 0 && c.Jobs > 1 {
		after = math.Ceil(c.before() / float64(c.Jobs))
	}
	if after > 0 {
		if r.Effect = c.effect(after); r.Effect != nil {
			r.Helps = helps(*r.Effect)
			r.Curve = c.curve(burst(c.before(), c.Total, c.Width), burst(after, c.Total, 0), 0, 0)
		}
		r.Why += "; the largest job alone remains"
	}
	if r.Helps == No {
		r.Why = "one job makes most of the tooth: only its own work could be spread"
	}
	return r
}

// freeMinutes proposes minutes for the jobs, spread over the hour, at which no
// job starts now; "" when the jobs are not known or come more often.
func (c Case) freeMinutes() string {
	const most = 12
	if c.Jobs < 2 || c.Jobs > most || c.Period < time.Hour || len(c.Minutes) == 0 {
		return ""
	}
	step := 60 / c.Jobs
	var at []string
	for i := range c.Jobs {
		m := i*step + step/2
		for slices.Contains(c.Minutes, m%60) || m%5 == 0 {
			m++ // round minutes are those that everybody takes
		}
		at = append(at, fmt.Sprint(m%60))
	}
	return strings.Join(at, ", ")
}
