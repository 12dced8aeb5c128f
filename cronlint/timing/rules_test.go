package timing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// judged runs all rules and returns "line rule severity" of each problem.
func judged(t *testing.T, o lint.Options, files ...string) (got []string, problems []lint.Problem) {
	t.Helper()
	p := passOf(t, o, files...)
	p.Report = func(problem lint.Problem) { problems = append(problems, problem) }
	for _, c := range Checks() {
		c.Run(p)
	}
	for _, problem := range problems {
		got = append(got, fmt.Sprintf("%d %s %s", problem.Line, problem.Rule.ID, problem.Severity))
	}
	slices.Sort(got)
	return got, problems
}

func TestGuards(t *testing.T) {
	const timer = "a.timer"
	for _, c := range []struct {
		name, path, text string
		o                lint.Options
		want             []string
	}{
		{name: "a random wait is spread", path: "etc/crontab", text: "0 3 * * * root sleep $((RANDOM \\% 600)); /opt/a\n", o: lint.Options{Dialect: "cronie"}, want: []string{"1 HS142 warning"}},
		{name: "RANDOM in bash", path: "etc/crontab", text: "SHELL=/bin/bash\n0 3 * * * root sleep $((RANDOM \\% 600)); /opt/a\n"},
		{name: "RANDOM for another program", path: "etc/crontab", text: "7 3 * * * root bash -c 'sleep $((RANDOM \\% 600)); /opt/a'\n"},
		{name: "RANDOM in double quotes", path: "etc/crontab", text: "7 3 * * * root bash -c \"sleep $RANDOM; /opt/a\"\n", want: []string{"1 HS142 error"}},
		{name: "percent as standard input", path: "etc/crontab", text: "7 3 * * * root mail -s hi bob\\@x%text\n", want: []string{"1 HS141 warning"}},
		{name: "percent and supercronic", path: "supercronic/crontab", text: "7 3 * * * date +%F\n"},
		{name: "escaped percent", path: "etc/crontab", text: "7 3 * * * root date +\\%F\n"},
		{name: "no user in cron.d", path: "etc/cron.d/app", text: "7 3 * * * /opt/a --flag\n", want: []string{"1 HS001 error"}},
		{name: "six fields", path: "etc/crontab", text: "0 7 3 * * * root /opt/a\n", want: []string{"1 HS001 error"}},
		{name: "a command that is a word", path: "crontab", text: "7 3 * * * backup /etc\n9 3 * * * ./list x\n"},
		{name: "every minute with a sleep", path: "etc/crontab", text: "* * * * * root sleep 30; /opt/a\n"},
		{name: "hours as a range", path: "etc/crontab", text: "* 9-17 * * * root /opt/a\n"},
		{name: "each hour of a list", path: "etc/crontab", text: "* 9,17 * * * root /opt/a\n", want: []string{"1 HS004 warning"}},
		{name: "days and weekdays, one starred", path: "etc/crontab", text: "7 0 * * 1 root /opt/a\n"},
		{name: "star with a step", path: "etc/crontab", text: "7 0 */2 * 1 root /opt/a\n", want: []string{"1 HS003 warning"}},
		{name: "restricted, but all days", path: "etc/crontab", text: "7 0 1-31 * 0-6 root /opt/a\n"},
		{name: "two jobs at 17", path: "etc/crontab", text: "17 3 * * * root /opt/a\n17 3 * * * root /opt/b\n", want: []string{"2 HS110 note"}},
		{name: "three jobs at 17", path: "etc/crontab", text: "17 3 * * * root /opt/a\n17 3 * * * root /opt/b\n17 3 * * * root /opt/c\n", want: []string{"2 HS110 warning"}},
		{name: "two jobs over the budget", path: "etc/crontab", o: lint.Options{Budget: 4}, text: "# herdscan: weight=3\n17 3 * * * root /opt/a\n# herdscan: weight=2\n17 3 * * * root /opt/b\n", want: []string{"4 HS110 error"}},
		{name: "different days", path: "etc/crontab", text: "17 3 * * 1 root /opt/a\n17 3 * * 2 root /opt/b\n17 3 * * 3 root /opt/c\n"},
		{name: "ticks don't count", path: "etc/crontab", text: "* * * * * root php artisan schedule:run\n17 3 * * * root /opt/a\n17 3 * * * root /opt/b\n", want: []string{"3 HS110 note"}},
		{name: "every minute, at one second", path: "etc/crontab", text: "* * * * * root /opt/a\n* * * * * root /opt/b\n* * * * * root /opt/c\n", want: []string{"1 HS110 warning"}},
		{name: "every minute, at three seconds", path: "etc/crontab", text: "* * * * * root /opt/a\n* * * * * root sleep 20; /opt/b\n* * * * * root sleep 40; /opt/c\n"},
		{name: "every minute beside others", path: "etc/crontab", text: "* * * * * root /opt/a\n7 3 * * * root /opt/b\n7 4 * * * root /opt/c\n"},
		{name: "seconds of a timer", path: "a.timer", text: "[Timer]\nOnCalendar=*:*:00\nOnCalendar=*:*:30\nRandomizedDelaySec=1s\n"},
		{name: "RANDOM_DELAY spreads machines", path: "etc/crontab", o: lint.Options{Hosts: 9}, text: "RANDOM_DELAY=30\n17 3 * * * root /opt/a\n"},
		{name: "RANDOM_DELAY spreads no jobs", path: "etc/crontab", text: "RANDOM_DELAY=30\n17 3 * * * root /opt/a\n17 3 * * * root /opt/b\n", want: []string{"1 HS145 warning", "3 HS110 note"}},
		{name: "fleet by a comment", path: "etc/crontab", text: "# herdscan: hosts=40\n17 3 * * * root /opt/a\n", want: []string{"2 HS120 warning"}},
		{name: "a cluster is no fleet", path: "a.yaml", o: lint.Options{Hosts: 9}, text: "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: 17 3 * * *\n  startingDeadlineSeconds: 9\n"},
		{name: "a long wait", path: "etc/crontab", text: "7-59/10 * * * * root sleep $(shuf -i 0-15 -n 1)m; /opt/a\n", want: []string{"1 HS147 warning"}},
		{name: "suspended", path: "a.yaml", text: "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: 0 3 * * *\n  suspend: true\n"},
		{name: "a timer with a delay", path: timer, text: "[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1h\n"},
		{name: "a delay of zero", path: timer, text: "[Timer]\nOnCalendar=daily\nRandomizedDelaySec=0\n", want: []string{"2 HS150 warning"}},
		{name: "reset and set again", path: timer, text: "[Timer]\nOnCalendar=daily\nOnCalendar=\nOnCalendar=*:17\n"},
		{name: "pinned timer", path: timer, text: "[Timer]\n# herdscan: pin reason=logs\nOnCalendar=daily\n"},
		{name: "seconds off the round", path: timer, text: "[Timer]\nOnCalendar=*-*-* 00:00:17\n"},
		{name: "two events, one delay to add", path: timer, text: "[Timer]\nOnCalendar=Mon 3:00\nOnCalendar=Tue 4:00\n", want: []string{"2 HS150 warning", "3 HS150 warning"}},
		{name: "old systemd", path: timer, o: lint.Options{SystemdVersion: 240}, text: "[Timer]\nOnCalendar=daily\nFixedRandomDelay=true\nRandomizedDelaySec=1h\n", want: []string{"3 HS156 warning"}},
		{name: "rate is not wall clock", path: "main.tf", text: "resource \"aws_scheduler_schedule\" \"a\" {\n  schedule_expression = \"rate(1 hour)\"\n  flexible_time_window {\n    mode = \"OFF\"\n  }\n}\n"},
		{name: "window on", path: "main.tf", text: "resource \"aws_scheduler_schedule\" \"a\" {\n  schedule_expression = \"cron(0 3 * * ? *)\"\n  flexible_time_window {\n    mode = \"FLEXIBLE\"\n  }\n}\n"},
		{name: "Jenkins hash", path: "Jenkinsfile", text: "cron('H H * * *')\n"},
		{name: "Jenkins without", path: "Jenkinsfile", text: "cron('0 3 * * *')\n", want: []string{"1 HS101 note"}},
		{name: "clock change in UTC", path: ".github/workflows/a.yml", text: "on:\n  schedule:\n    - cron: '30 2 * * *'\njobs: {}\n"},
		{name: "clock change, hourly", path: ".github/workflows/a.yml", text: "on:\n  schedule:\n    - cron: '30 * * * *'\n      timezone: Europe/Berlin\njobs: {}\n"},
		{name: "one replica", path: "d.yaml", text: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  strategy: {type: Recreate}\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: 17 3 * * *\n  startingDeadlineSeconds: 9\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problems := judged(t, c.o, c.path, c.text)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, p := range problems {
				t.Logf("%s: %s", p.Rule.ID, p.Message)
				if strings.HasSuffix(p.Message, ".") || p.Identity == "" {
					t.Errorf("%s: message %q, identity %q", p.Rule.ID, p.Message, p.Identity)
				}
			}
		})
	}
}

// A drop-in counts for its unit only, and a reset in it takes events away.
func TestDropIns(t *testing.T) {
	const unit = "[Timer]\nOnCalendar=daily\n"
	for _, c := range []struct {
		name   string
		dropIn string
		text   string
		want   []string
	}{
		{name: "delay", dropIn: "u/a.timer.d/x.conf", text: "[Timer]\nRandomizedDelaySec=1h\n"},
		{name: "of another unit", dropIn: "u/b.timer.d/x.conf", text: "[Timer]\nRandomizedDelaySec=1h\n", want: []string{"2 HS150 warning"}},
		{name: "reset", dropIn: "u/a.timer.d/x.conf", text: "[Timer]\nOnCalendar=\nOnCalendar=*-*-* 03:17\n"},
		{name: "added", dropIn: "u/a.timer.d/x.conf", text: "[Timer]\nOnCalendar=*-*-* 04:00\n", want: []string{"2 HS150 warning", "2 HS150 warning"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := judged(t, lint.Options{}, "u/a.timer", unit, c.dropIn, c.text); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Collisions are found across files and formats of one group, and across zones.
func TestCollisionsAcross(t *testing.T) {
	workflow := func(cron, zone string) string {
		return "on:\n  schedule:\n    - cron: '" + cron + "'\n      timezone: " + zone + "\njobs: {}\n"
	}
	got, _ := judged(t, lint.Options{},
		".github/workflows/a.yml", workflow("17 9 * * *", "Asia/Tokyo"),
		".github/workflows/b.yml", workflow("17 0 * * *", "UTC"))
	if !slices.Equal(got, []string{"3 HS110 note"}) {
		t.Errorf("09:17 in Tokyo and 00:17 UTC: %q", got)
	}
	got, problems := judged(t, lint.Options{},
		"etc/cron.d/a", "17 3 * * * root /opt/a\n", "units/b.timer", "[Timer]\nOnCalendar=*-*-* 3:17\n",
		"k8s/c.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n  schedule: 17 3 * * *\n  startingDeadlineSeconds: 9\n")
	if !slices.Equal(got, []string{"1 HS110 note"}) || len(problems[0].Related) != 1 || problems[0].Related[0].File != "units/b.timer" {
		t.Errorf("a cron job and a timer of one machine: %q", got)
	}
}

// A Jenkins job gets Jenkins' own remedy.
func TestJenkinsGetsHash(t *testing.T) {
	for text, want := range map[string]string{"0 3 * * *": "H", "*/15 * * * *": "H/15", "@daily": ""} {
		_, problems := judged(t, lint.Options{JenkinsJob: "a/b"}, "Jenkinsfile", "cron('"+text+"')\n")
		got := ""
		for _, p := range problems {
			if p.Fix != nil {
				got = p.Fix.New
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Many lines are judged in one go; the plan still finds a place for each.
func TestLargeCrontab(t *testing.T) {
	var b strings.Builder
	for i := range 3_000 {
		fmt.Fprintf(&b, "%d %d %d * * root /opt/job-%d\n", i%60, i/60%24, i%28+1, i)
	}
	got, problems := judged(t, lint.Options{}, "etc/crontab", b.String())
	if len(problems) == 0 {
		t.Errorf("nothing found: %q", got)
	}
}

func TestOften(t *testing.T) {
	for n, want := range map[int]string{
		8760: "every hour", 8784: "every hour", 365: "every day", 364: "every day", 730: "2 times a day", 52: "every week", 104: "2 times a week",
		12: "12 times a year", 1: "once a year", 52560: "6 times an hour", 500: "about 1.4 times a day",
	} {
		if got := often(n); got != want {
			t.Errorf("%d times a year is %q, want %q", n, got, want)
		}
	}
}

// A collision is weighed by how often it happens: what rare jobs add on some days
// is neither counted nor said to be an error, and is told apart.
func TestCollisionsByHowOften(t *testing.T) {
	daily := "0 3 * * * root /opt/a\n0 3 * * * root /opt/b\n0 3 * * * root /opt/c\n"
	monthly := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("0 3 %d * * root /opt/m%d\n", 5*i+1, i)
		}
		return text
	}
	for _, c := range []struct {
		name, text, want string
		count, related   int
		alone            string // the HS111 that goes with it
	}{
		{name: "every day", text: daily, want: "warning: 3 jobs start in the same minute, every day", count: 3, related: 2},
		{
			name: "a rare job joins", text: daily + "0 3 7 * * root /opt/m\n", count: 3, related: 3,
			want: "warning: 3 jobs start in the same minute, every day; 1 more on some days", alone: "4 jobs meet in one minute 12 times a year",
		},
		{
			name: "rare jobs that don't meet each other", text: daily + monthly(5), count: 3, related: 7,
			want: "warning: 3 jobs start in the same minute, every day; 5 more on some days", alone: "4 jobs meet in one minute 12 times a year",
		},
		{
			name: "a monthly job and two daily ones", text: "0 3 * * * root /opt/a\n0 3 * * * root /opt/b\n0 3 7 * * root /opt/m\n",
			want: "note: 2 jobs start in the same minute, every day; 1 more on some days", count: 2, related: 2,
			alone: "3 jobs meet in one minute 12 times a year",
		},
		{name: "eight of them weekly", text: strings.Repeat("0 3 * * 1 root /opt/w\n", 8), want: "error: 8 jobs start in the same minute, every week", count: 8, related: 7},
		{name: "eight of them monthly", text: strings.Repeat("0 3 1 * * root /opt/w\n", 8), want: "warning: 8 jobs start in the same minute, 12 times a year", count: 8, related: 7},
		{name: "eight of them yearly", text: strings.Repeat("0 3 1 1 * root /opt/w\n", 8), want: "note: 8 jobs start in the same minute, once a year", count: 8, related: 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := judged(t, lint.Options{}, "etc/crontab", c.text)
			alone := ""
			for _, p := range problems {
				switch p.Rule.ID {
				case "HS110":
					if got := p.Severity.String() + ": " + p.Message; got != c.want || p.Count != c.count || len(p.Related) != c.related {
						t.Errorf("%s, of %d, %d related", got, p.Count, len(p.Related))
					}
					if p.Effect.Before != float64(c.count) || p.Effect.Unit != "starts/min" || p.Effect.After >= p.Effect.Before {
						t.Errorf("effect %+v", p.Effect)
					}
				case "HS111":
					alone, _, _ = strings.Cut(p.Message, ", next")
				case "HS101":
					t.Errorf("said again in line %d: %s", p.Line, p.Message)
				}
			}
			if alone != c.alone {
				t.Errorf("the rare day: %q, want %q", alone, c.alone)
			}
		})
	}
}

// A collision stands at the line of a job that can move.
func TestCollisionStandsWhereItCanBeMended(t *testing.T) {
	got, problems := judged(t, lint.Options{}, "etc/crontab",
		"# herdscan: pin reason=the bank\n0 3 * * * root /opt/bank\n0 3 * * * root /opt/invoice\n0 3 * * * root /opt/c\n")
	if !slices.Equal(got, []string{"4 HS110 warning"}) || problems[0].Fix == nil || !problems[0].Fix.Safe {
		t.Errorf("got %q", got)
	}
}

// What starts every minute is told to sleep, in a line that can be pasted.
func TestEveryMinuteAdvice(t *testing.T) {
	_, problems := judged(t, lint.Options{}, "etc/crontab", "* * * * *\troot  /opt/a\n* * * * *\troot  /opt/b && c\n7 * * * * root /opt/d\n9 * * * * root /opt/e\n")
	if len(problems) != 1 || problems[0].Advice != "* * * * *\troot  sleep 30; /opt/b && c" || problems[0].Fix != nil ||
		problems[0].Effect.Text != "busiest second 2 → 1 start" {
		t.Errorf("%+v", problems)
	}
}

// On a fleet, housekeeping is a note, and no wait is proposed that ends tomorrow.
func TestFleet(t *testing.T) {
	for _, c := range []struct{ line, want, advice string }{
		{"17 3 * * * root /opt/sync", "warning", "17 3 * * * root sleep $(shuf -i 0-3599 -n 1); /opt/sync"},
		{"30 23 * * * root /opt/sync", "warning", "30 23 * * * root sleep $(shuf -i 0-1799 -n 1); /opt/sync"},
		{"58 23 * * * root /opt/sync", "warning", ""},
		{"3-59/5 * * * * root /opt/sync", "warning", "3-59/5 * * * * root sleep $(shuf -i 0-119 -n 1); /opt/sync"},
		{"17 3 * * * root /usr/sbin/logrotate /etc/logrotate.conf", "note", "17 3 * * * root sleep $(shuf -i 0-3599 -n 1); /usr/sbin/logrotate /etc/logrotate.conf"},
		{"17 3 * * * root test -x /usr/bin/mandb && mandb --quiet", "note", "17 3 * * * root sleep $(shuf -i 0-3599 -n 1); test -x /usr/bin/mandb && mandb --quiet"},
		{"17 3 * * * root tar czf /var/backups/etc.tgz /etc >/dev/null 2>&1", "note", ""},
		{"17 3 * * * root mysqldump shop | gzip > /var/backups/shop.gz", "note", ""},
		{"17 3 * * * root mysqldump -h db1 shop | gzip > /var/backups/shop.gz", "warning", ""},
		{"17 3 * * * root mysqldump shop | ssh backup cat", "warning", ""},
		{"17 3 * * * root tar cf /tmp/x /etc && /opt/upload /tmp/x", "warning", ""},
		{"17 3 * * * root logrotate -f /etc/l && aws s3 cp /var/log/x s3://logs/", "warning", ""},
	} {
		_, problems := judged(t, lint.Options{Hosts: 50}, "etc/crontab", c.line+"\n")
		if len(problems) != 1 || problems[0].Rule.ID != "HS120" || problems[0].Severity.String() != c.want || problems[0].Count != 50 {
			t.Errorf("%s: %+v", c.line, problems)
			continue
		}
		if c.advice != "" && problems[0].Advice != c.advice || c.advice == "" && strings.HasPrefix(c.line, "58 23") && problems[0].Advice != "" {
			t.Errorf("%s: advice %q", c.line, problems[0].Advice)
		}
	}
	for unit, want := range map[string]string{"logrotate.timer": "note", "sync.timer": "warning"} {
		_, problems := judged(t, lint.Options{Hosts: 50}, unit, "[Timer]\nOnCalendar=daily\n")
		if len(problems) != 1 || problems[0].Rule.ID != "HS150" || problems[0].Severity.String() != want ||
			!strings.Contains(problems[0].Message, "50 machines start at once") {
			t.Errorf("%s: %+v", unit, problems)
		}
	}
}

func TestLasts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Minute: "10 minutes", time.Minute: "1 minute", 90 * time.Second: "90 seconds", 2 * time.Hour: "2 hours",
		90 * time.Minute: "90 minutes", 24 * time.Hour: "1 day", 599 * time.Second: "599 seconds", 3599 * time.Second: "60 minutes",
	} {
		if got := lasts(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
