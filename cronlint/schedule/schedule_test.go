package schedule

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Values that Jenkins gives (core/src/test/java/hudson/scheduler/CronTabTest.java).
func TestJenkinsHash(t *testing.T) {
	for _, c := range []struct {
		text, job string
		minute    []int
		hour      int
	}{
		{"H * * * *", "stuff", []int{56}, -1},
		{"H * * * *", "junk", []int{20}, -1},
		{"H/15 * * * *", "stuff", []int{11, 26, 41, 56}, -1},
		{"0 H(12-13) * * *", "stuff", []int{0}, 13},
	} {
		s, err := ParseJob(Jenkins, c.text, c.job)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		var minutes []int
		for m := range 60 {
			if s.MinutesOfHour()&(1<<m) != 0 {
				minutes = append(minutes, m)
			}
		}
		if !slices.Equal(minutes, c.minute) {
			t.Errorf("%s of %s: minutes %v, want %v", c.text, c.job, minutes, c.minute)
		}
		if c.hour >= 0 && s.Hours() != 1<<c.hour {
			t.Errorf("%s of %s: hours %b, want hour %d", c.text, c.job, s.Hours(), c.hour)
		}
		if s.Drawn {
			t.Errorf("%s of %s: a known job's values are not drawn", c.text, c.job)
		}
	}
	if s, err := Parse(Jenkins, "H H * * *"); err != nil || !s.Drawn || s.PerDay() != 1 {
		t.Errorf("without a job: %+v, %v", s, err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		d     Dialect
		text  string
		place string // the marked part of text
	}{
		{Vixie, "5/15 * * * *", "5/15"},
		{Vixie, "0 24 * * *", "24"},
		{Vixie, "0 0 L * *", "L"},
		{Vixie, "0 0 * * 8", "8"},
		{Vixie, "0 0 * * 1,,2", ""},
		{Vixie, "0 0 * *", "0 0 * *"},
		{Vixie, "0 0 * * * *", "*"},
		{Vixie, "@every 5m", "@every"},
		{Robfig, "0 0 * * 7", "7"},
		{Robfig, "0 22-2 * * *", "22-2"},
		{Robfig, "CRON_TZ=Mars/Olympus 0 0 * * *", "Mars/Olympus"},
		{Robfig, "TZ=Asia/Tokyo", "TZ=Asia/Tokyo"},
		{GitHub, "@daily", "@daily"},
		{Quartz, "0 0 0 1 * 1", "1 * 1"},
		{Quartz, "0 0 * * *", "0 0 * * *"},
		{EventBridge, "cron(0 1 * * * *)", "* * *"},
		{EventBridge, "rate(0 hours)", "0"},
		{EventBridge, "rate(5 fortnights)", "fortnights"},
		{Cronexpr, "*/99 * * * *", "99"},
		{Vercel, "0 0 1 * 1", "1 * 1"},
		{Systemd, "Mon *-*-* 25:00", "25"},
		{Systemd, "midnight", "midnight"},
		{Jenkins, "H(5-70) * * * *", "70"},
		{AppEngine, "now and then", "now and then"},
	} {
		_, err := Parse(c.d, c.text)
		var pe *ParseError
		if !errors.As(err, &pe) {
			t.Errorf("%v %q: no error", c.d, c.text)
			continue
		}
		if pe.Start < 0 || pe.End > len(c.text) || pe.Start > pe.End {
			t.Errorf("%v %q: range [%d, %d) outside the text", c.d, c.text, pe.Start, pe.End)
		} else if got := c.text[pe.Start:pe.End]; got != c.place {
			t.Errorf("%v %q: marks %q, want %q (%v)", c.d, c.text, got, c.place, err)
		}
	}
}

func TestDialects(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // a Thursday
	for _, c := range []struct {
		d          Dialect
		text, want string
	}{
		// The star rule: AND, OR, and busybox which counts days from 0.
		{Vixie, "0 0 */2 * 1", "01-05T00:00 01-19T00:00 02-09T00:00"},
		{Robfig, "0 0 */2 * 1", "01-03T00:00 01-05T00:00 01-07T00:00"},
		{Fugit, "0 0 */2 * 1", "01-03T00:00 01-05T00:00 01-07T00:00"},
		{PHP, "0 0 */2 * 1", "01-03T00:00 01-05T00:00 01-07T00:00"},
		{Croner, "0 0 1,15 * 1", "01-05T00:00 01-12T00:00 01-15T00:00"},
		{Celery, "0 0 1-7 * 1", "01-05T00:00 02-02T00:00 03-02T00:00"},
		{Jenkins, "0 0 1-7 * 1", "01-05T00:00 02-02T00:00 03-02T00:00"},
		{Busybox, "0 0 */2 * *", "01-02T00:00 01-04T00:00 01-06T00:00"},
		{Busybox, "5/15 0 * * *", "01-01T00:05 01-02T00:05 01-03T00:05"},
		{Busybox, "0 22-2 * * *", "01-01T01:00 01-01T02:00 01-01T22:00"},
		{Busybox, "0 0 1 * 0-6", "02-01T00:00 03-01T00:00 04-01T00:00"},
		{PHP, "*/90 * * * *", "01-01T00:30 01-01T01:30 01-01T02:30"},
		{Vixie, "0 0 * * fri-sun", ""},
		{Cronexpr, "0 0 * * 5-7", "01-02T00:00 01-03T00:00 01-09T00:00"},
		// Weekday 1 is Sunday for some.
		{EventBridge, "cron(0 1 ? * 2 *)", "01-05T01:00 01-12T01:00 01-19T01:00"},
		{EventBridge, "cron(0 1 ? * MON#1 *)", "01-05T01:00 02-02T01:00 03-02T01:00"},
		{EventBridge, "cron(0 1 L * ? *)", "01-31T01:00 02-28T01:00 03-31T01:00"},
		{EventBridge, "at(2026-11-20T13:00:00)", "11-20T13:00"},
		{Cloudflare, "0 1 * * 1", "01-04T01:00 01-11T01:00 01-18T01:00"},
		{Spring, "0 0 1 * * 1", "01-05T01:00 01-12T01:00 01-19T01:00"},
		{Spring, "0 0 0 * * ?", "01-02T00:00 01-03T00:00 01-04T00:00"},
		{Spring, "0 0 9 L-3 * *", "01-28T09:00 02-25T09:00 03-28T09:00"},
		{Quartz, "0 0 0 ? * 6L", "01-30T00:00 02-27T00:00 03-27T00:00"},
		{Quartz, "0 0 0 1W * ? 2026", "02-02T00:00 03-02T00:00 04-01T00:00"},
		{Supercronic, "0 0 1 3 * 2025-2026", "03-01T00:00"},
		{AppEngine, "every monday 09:00", "01-05T09:00 01-12T09:00 01-19T09:00"},
		{AppEngine, "every day 00:10", "01-01T00:10 01-02T00:10 01-03T00:10"},
		{AppEngine, "2nd,third mon,wed of march 17:00", "03-09T17:00 03-11T17:00 03-16T17:00"},
		{AppEngine, "1,15 of month 12:00", "01-01T12:00 01-15T12:00 02-01T12:00"},
		{AppEngine, "1 of jan,april 00:30", "01-01T00:30 04-01T00:30"},
		{AppEngine, "every 90 minutes from 10:00 to 14:00", "01-01T10:00 01-01T11:30 01-01T13:00"},
		{AppEngine, "every 12 hours synchronized", "01-01T12:00 01-02T00:00 01-02T12:00"},
		{Google, "every day 00:10", "01-01T00:10 01-02T00:10 01-03T00:10"},
		{Google, "10 0 * * *", "01-01T00:10 01-02T00:10 01-03T00:10"},
		{Fugit, "0 9 * * 1 Asia/Tokyo", "01-05T00:00 01-12T00:00 01-19T00:00"},
		{Fugit, "30 0 9 * * 1", "01-05T09:00 01-12T09:00 01-19T09:00"},
		{Systemd, "Mon,Fri *-*-* 05,17:30", "01-02T05:30 01-02T17:30 01-05T05:30"},
		{Systemd, "*-*~02 1:00 Europe/Berlin", "01-30T00:00 02-27T00:00 03-29T23:00"},
		{Robfig, "@every 90m", "01-01T01:30 01-01T03:00 01-01T04:30"},
		{Vixie, "@weekly", "01-04T00:00 01-11T00:00 01-18T00:00"},
		{Vixie, "@reboot", ""},
		{Netlify, "@hourly", "01-01T01:00 01-01T02:00 01-01T03:00"},
	} {
		s, err := Parse(c.d, c.text)
		if err != nil {
			t.Errorf("%v %q: %v", c.d, c.text, err)
			continue
		}
		var got []string
		for at := range s.Fires(from, from.AddDate(1, 0, -1)) {
			if got = append(got, at.Format("01-02T15:04")); len(got) == 3 {
				break
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v %q:\n got %v\nwant %v", c.d, c.text, got, c.want)
		}
	}
}

func TestNever(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]bool{
		"0 0 31 2 *": true, "0 0 30 2 *": true, "0 0 29 2 *": false, "0 0 31 4,6,9,11 *": true,
		"0 0 31 4,6,9,11 1": false, "59-0 * * * *": true, "@reboot": false, "@daily": false,
	} {
		s, err := Parse(Vixie, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Never(from); got != want {
			t.Errorf("%q never fires: %v, want %v", text, got, want)
		}
	}
}
