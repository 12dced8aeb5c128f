package timing

import (
	"fmt"
	"math"
	"time"

	"github.com/herdscan/herdscan/cronlint/schedule"
)

// readers are the names by which people know the programs that read a dialect,
// where its own name is not that.
var readers = map[schedule.Dialect]string{
	schedule.Vixie: "cron", schedule.Robfig: "Kubernetes", schedule.Cronexpr: "Nomad", schedule.Jenkins: "Jenkins",
	schedule.Quartz: "Quartz", schedule.Spring: "Spring", schedule.EventBridge: "EventBridge", schedule.GitHub: "GitHub",
	schedule.PHP: "Laravel", schedule.Celery: "Celery", schedule.AppEngine: "App Engine", schedule.Google: "Cloud Scheduler",
	schedule.Cloudflare: "Cloudflare", schedule.Vercel: "Vercel", schedule.Netlify: "Netlify",
}

// reader names the program that reads a dialect.
func reader(d schedule.Dialect) string {
	if name, ok := readers[d]; ok {
		return name
	}
	return d.String()
}

// count writes a number with its noun: "1 job", "3 jobs".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// lasts writes a length of time as people say it: "10 minutes", "2 hours",
// "90 seconds".
func lasts(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		noun   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if d >= unit.length && d%unit.length == 0 {
			return count(int(d/unit.length), unit.noun)
		}
	}
	if d >= 10*time.Minute {
		d = d.Round(time.Minute)
		return count(int(d/time.Minute), "minute")
	}
	return count(int(d.Round(time.Second)/time.Second), "second")
}

// often says how many times a year something happens, in the words people use.
func often(times int) string {
	for _, unit := range []struct {
		name  string
		count float64 // how many there are in a year
	}{{"hour", 8766}, {"day", 365.25}, {"week", 52.18}} {
		n := float64(times) / unit.count
		whole := math.Round(n)
		switch {
		case n < 0.98:
		case math.Abs(n-whole) > 0.02*n:
			return fmt.Sprintf("about %.1f times %s %s", n, article(unit.name), unit.name)
		case whole == 1:
			return "every " + unit.name
		default:
			return fmt.Sprintf("%.0f times %s %s", whole, article(unit.name), unit.name)
		}
	}
	if times == 1 {
		return "once a year"
	}
	return count(times, "time") + " a year"
}

func article(noun string) string {
	if noun == "hour" {
		return "an"
	}
	return "a"
}

// starts writes a load: "1 start", "2.5 starts".
func starts(n float64) string {
	if n == 1 {
		return "1 start"
	}
	return fmt.Sprintf("%g starts", n)
}
