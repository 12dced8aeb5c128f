package report

import (
	"fmt"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// combOf writes a comb by the contract. zone is the one whose wall clock
// counts; nil means UTC.
func combOf(c comb.Comb, zone *time.Location) *Comb {
	out := &Comb{
		PeriodNS: int64(c.Period), Anchor: c.Anchor.UTC(), WidthNS: int64(c.Width), DriftNS: int64(c.Drift),
		Lock: c.Lock.String(), Teeth: len(c.Teeth), Missing: c.Missing, Share: c.Share,
		Height: c.Height, Peak: c.Peak, Baseline: c.Baseline, Log10P: c.LogP,
	}
	switch c.Lock {
	case comb.Undetermined:
	case comb.WallClock:
		yes := true
		out.Locked = &yes
		if zone == nil {
			zone = time.UTC
		}
		phase := phaseOf(c, zone)
		out.PhaseNS, out.Zone = &phase, zone.String()
	default:
		no := false
		out.Locked = &no
	}
	return out
}

// phaseOf is the offset of the teeth in the wall-clock period of the zone.
func phaseOf(c comb.Comb, zone *time.Location) int64 {
	period := int64(c.Period - c.Drift)
	if period <= 0 {
		return 0
	}
	_, offset := c.Anchor.In(zone).Zone()
	local := c.Anchor.UnixNano() + int64(offset)*int64(time.Second)
	return ((local % period) + period) % period
}

// lockText says in words what the lock of a comb means for its cause.
func lockText(c comb.Comb) string {
	round := c.Period - c.Drift
	switch c.Lock {
	case comb.WallClock:
		return fmt.Sprintf("The teeth keep their place on the wall clock (%s each, drift %s ± %s a period): consistent with a schedule such as cron or a timer, not with a TTL, which comes back later each time by the time to rebuild.",
			Dur(round), Dur(c.Drift), Dur(c.DriftErr))
	case comb.Drifting:
		return fmt.Sprintf("Each period is %s (± %s) longer than %s: consistent with a TTL of %s s plus the time to rebuild, not with a wall-clock schedule.",
			Dur(c.Drift), Dur(c.DriftErr), Dur(round), Seconds(round))
	case comb.Free:
		return fmt.Sprintf("The period of %s is no wall-clock period: consistent with a TTL plus rebuild, a retry or a poll interval, not with cron.", Dur(c.Period))
	default:
		return fmt.Sprintf("Too few teeth, or too wide ones, to tell a wall-clock schedule from a TTL that drifts (drift %s ± %s a period): a longer record would tell.",
			Dur(c.Drift), Dur(c.DriftErr))
	}
}

// lockRefuted names the observation that would refute what lockText says.
func lockRefuted(c comb.Comb) string {
	switch c.Lock {
	case comb.WallClock:
		return "teeth that move when the clock of the scheduler is left alone, or that stay when its jobs are off."
	case comb.Drifting, comb.Free:
		return "teeth that keep their minute and second over a whole day."
	default:
		return ""
	}
}

// every writes a period with its lock: "60m 1.2s (drifting)".
func every(c comb.Comb) string { return Dur(c.Period) + " (" + lockWord(c.Lock) + ")" }

func lockWord(l comb.Lock) string {
	switch l {
	case comb.WallClock:
		return "on the wall clock"
	case comb.Undetermined:
		return "lock undetermined"
	default:
		return l.String()
	}
}
