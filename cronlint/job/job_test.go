package job

import (
	"fmt"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// example is a file with the jobs it holds: "line:col raw dialect zone command".
type example struct {
	name, path, text string
	o                lint.Options
	want             []string
	faults           int // parts that can't be read
}

var examples = []example{
	{
		name: "user crontab", path: "docker/crontab",
		text: "MAILTO=ops\n# m h dom mon dow\n0 3\t* * *  source ~/.env && ./run --at 5%x\n\n  @daily /opt/a >> /dev/null 2>&1\n@reboot /opt/b\n",
		want: []string{"3:1 0 3\t* * * vixie - source ~/.env && ./run --at 5%x", "5:3 @daily vixie - /opt/a >> /dev/null 2>&1", "6:1 @reboot vixie - /opt/b"},
	},
	{
		name: "system crontab", path: "etc/cron.d/app",
		text: "SHELL=/bin/bash\n*/5 * * * * www-data /opt/a\n@hourly root PATH=/x cmd\n",
		want: []string{"2:1 */5 * * * * vixie - /opt/a", "3:1 @hourly vixie - PATH=/x cmd"},
	},
	{
		name: "users are seen in any crontab", path: "crontab",
		text: "0 1 * * * root /opt/a\n0 2 * * * deploy /opt/b\n",
		want: []string{"1:1 0 1 * * * vixie - /opt/a", "2:1 0 2 * * * vixie - /opt/b"},
	},
	{
		name: "cronie", path: "var/spool/cron/bob",
		text: "CRON_TZ=Asia/Tokyo\n0~30 3 * * * /opt/a\n-5 4 * * * /opt/b\n",
		want: []string{"2:1 0~30 3 * * * cronie Asia/Tokyo /opt/a", "3:2 5 4 * * * cronie Asia/Tokyo /opt/b"},
	},
	{
		name: "supercronic", path: "crontab", text: "0 0 3 * * * * /opt/a\n5 4 * * * 2027 /opt/b\n*/5 * * * * /opt/c\n",
		want: []string{"1:1 0 0 3 * * * * supercronic - /opt/a", "2:1 5 4 * * * 2027 supercronic - /opt/b", "3:1 */5 * * * * supercronic - /opt/c"},
	},
	{
		name: "byte order mark, CRLF and no final newline", path: "a.crontab", text: "\ufeff5 4 * * * /opt/é\r\n6 4 * * * /opt/b",
		want: []string{"1:1 5 4 * * * vixie - /opt/é", "2:1 6 4 * * * vixie - /opt/b"},
	},
	{name: "a script is no crontab", path: "cron/run.sh", text: "#!/bin/sh\n0 0 * * * x\n"},
	{name: "a template line is skipped", path: "cron.d/app.j2", text: "{% if x %}\n{{ minute }} 3 * * * root /opt/a\n7 3 * * * root /opt/b\n{% endif %}\n", want: []string{"3:1 7 3 * * * vixie - /opt/b"}},
	{name: "anacrontab", path: "etc/anacrontab", text: "RANDOM_DELAY=45\n1\t5\tcron.daily\tnice run-parts /etc/cron.daily\n@monthly 45 m cmd\n", want: []string{"2:1 1 vixie - nice run-parts /etc/cron.daily", "3:1 @monthly vixie - cmd"}},
	{
		name: "timer", path: "units/backup.timer",
		text: "[Unit]\nDescription=x\n[Timer]\n; a comment\nOnCalendar = Mon *-*-* 03:00:00 \nOnCalendar=\nOnCalendar=daily\nUnit=job.service\n",
		want: []string{"5:14 Mon *-*-* 03:00:00 systemd - job.service", "7:12 daily systemd - job.service"},
	},
	{name: "drop-in", path: "units/backup.timer.d/time.conf", text: "[Timer]\nOnCalendar=*:0/15\n", want: []string{"2:12 *:0/15 systemd - backup.service"}},
	{name: "another conf", path: "etc/x.conf", text: "[Timer]\nOnCalendar=daily\n"},
	{
		name: "workflow", path: ".github/workflows/ci.yml",
		text: "name: Nightly\non:\n  schedule:\n  - cron: '0 3 * * *' # x\n    timezone: Europe/Paris\n  - cron: 5 4 * * 1\n  - cron: $cron-daily\njobs: {}\n",
		want: []string{"4:12 0 3 * * * github Europe/Paris Nightly", "6:11 5 4 * * 1 github UTC Nightly"},
	},
	{
		name: "CronJob", path: "k8s/a.yaml",
		text: "kind: Service\napiVersion: v1\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, namespace: n}\nspec:\n  schedule: &s \"*/5 * * * *\"\n  timeZone: UTC\n  suspend: true\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: batch/v1\n  kind: CronJob\n  metadata: {name: b}\n  spec: {schedule: '@hourly'}\n",
		want: []string{"8:17 */5 * * * * robfig UTC n/a disabled", "18:21 @hourly robfig - b"},
	},
	{
		name: "CronWorkflow", path: "argo.yaml",
		text: "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata:\n  name: w\nspec:\n  timezone: America/New_York\n  schedules:\n    - \"0 1 * * *\"\n    - \"0 2 * * *\"\n",
		want: []string{"8:8 0 1 * * * robfig America/New_York w", "9:8 0 2 * * * robfig America/New_York w"},
	},
	{
		name: "Helm template", path: "chart/templates/cronjob.yaml",
		text: "apiVersion: batch/v1\nkind: CronJob\nspec:\n  {{- with .Values.cron }}\n  schedule: {{ .schedule | quote }}\n  {{- end }}\n---\napiVersion: batch/v1\nkind: CronJob\nspec:\n  schedule: \"0 3 * * *\" # nightly\n",
		want: []string{"11:14 0 3 * * * robfig - cronjob.yaml"},
	},
	{
		name: "a fault in the second document", path: "k8s/b.yaml", faults: 1,
		text: "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: 0 3 * * *\n---\na: [\n",
		want: []string{"5:13 0 3 * * * robfig - a"},
	},
	{
		name: "Helm values", path: "chart/values.yaml",
		text: "cleanup:\n  schedule: \"0 0 * * *\"\n  cron: {{ .Values.x }}\n", want: []string{"2:14 0 0 * * * robfig - cleanup.schedule"},
	},
	{
		name: "Helm values, rendered", path: "chart/values-prod.yaml",
		text: "cleanup:\n  schedule: \"0 0 * * *\"\n  workSchedule: weekdays\nbackupCron: '@daily'\n",
		want: []string{"2:14 0 0 * * * robfig - cleanup.schedule", "4:14 @daily robfig - backupCron"},
	},
	{
		name: "Dependabot", path: ".github/dependabot.yml",
		text: "version: 2\nupdates:\n- package-ecosystem: npm\n  directory: /\n  schedule: {interval: weekly}\n- package-ecosystem: pip\n  directory: /a\n  schedule:\n    interval: weekly\n    day: tuesday\n    time: \"05:00\"\n    timezone: Asia/Tokyo\n",
		want: []string{"11:12 0 5 * * tuesday fugit Asia/Tokyo pip /a"},
	},
	{
		name: "Terraform", path: "main.tf",
		text: "resource \"aws_scheduler_schedule\" \"a\" {\n  schedule_expression          = \"cron(0 3 * * ? *)\"\n  schedule_expression_timezone = \"Europe/Rome\"\n  state                        = \"DISABLED\"\n}\nresource \"google_cloud_scheduler_job\" \"g\" {\n  schedule = \"0 4 * * *\"\n}\nlocals {\n  jobs = { x = { schedule_expression = \"rate(5 minutes)\" }, y = { schedule_expression = \"cron(${var.m} 1 * * ? *)\" } }\n}\n",
		want: []string{"2:35 cron(0 3 * * ? *) eventbridge Europe/Rome aws_scheduler_schedule.a disabled", "7:15 0 4 * * * google UTC google_cloud_scheduler_job.g", "10:41 rate(5 minutes) eventbridge UTC locals.jobs.x"},
	},
	{
		name: "Nomad", path: "a.nomad.hcl",
		text: "job \"j\" {\n  periodic {\n    crons     = [\"0 1 * * *\", \"0 2 * * *\"]\n    time_zone = \"Europe/Oslo\"\n  }\n}\n",
		want: []string{"3:19 0 1 * * * cronexpr Europe/Oslo j", "3:32 0 2 * * * cronexpr Europe/Oslo j"},
	},
	{
		name: "Ansible", path: "roles/a/tasks/main.yml",
		text: "- name: outer\n  block:\n    - name: backup\n      ansible.builtin.cron:\n        name: backup\n        minute: \"30\"\n        hour: 3\n        job: /opt/b\n    - cron:\n        name: gone\n        state: absent\n    - cron:\n        special_time: daily\n        job: /opt/c\n",
		want: []string{"6:18 30 3 * * * vixie - /opt/b", "13:23 @daily vixie - /opt/c"},
	},
	{
		name: "Vercel", path: "vercel.json", text: "{\"crons\": [{\"path\": \"/api\", \"schedule\": \"0 10 * * *\"}]}",
		want: []string{"1:42 0 10 * * * vercel UTC crons.schedule"},
	},
	{
		name: "wrangler.toml", path: "wrangler.toml", text: "name = \"x\"\n[triggers]\ncrons = [ \"*/5 * * * *\", '0 1 * * 1' ] # x\n[env.prod.triggers]\ncrons = [\"7 * * * *\"]\n",
		want: []string{"3:12 */5 * * * * cloudflare UTC triggers.crons", "3:27 0 1 * * 1 cloudflare UTC triggers.crons", "5:11 7 * * * * cloudflare UTC env.prod.triggers.crons"},
	},
	{
		name: "wrangler.jsonc", path: "wrangler.jsonc", text: "{\n\t// x\n\t\"triggers\": { \"crons\": [\"1 * * * *\",], },\n}\n",
		want: []string{"3:27 1 * * * * cloudflare UTC triggers.crons"},
	},
	{name: "netlify", path: "netlify.toml", text: "[functions.\"nightly\"]\nschedule = \"@daily\"\n", want: []string{"2:13 @daily netlify UTC functions.nightly.schedule"}},
	{
		name: "Spring YAML", path: "application.yml", text: "app:\n  clean.cron: \"0 0 0 * * ?\"\n  other: {cron-expression: '0 0/5 * * * *'}\n  off.cron: '-'\n",
		want: []string{"2:16 0 0 0 * * ? spring - app.clean.cron", "3:29 0 0/5 * * * * spring - app.other.cron-expression"},
	},
	{
		name: "Spring properties", path: "application.properties", text: "# x.cron=1\nclean.cron = 0 0 3 * * MON-FRI\nquartz.cron=0 0 3 ? * 6L 2027\n",
		want: []string{"2:14 0 0 3 * * MON-FRI spring - clean.cron", "3:13 0 0 3 ? * 6L 2027 quartz - quartz.cron"},
	},
	{
		name: "App Engine", path: "cron.yaml", text: "cron:\n- url: /a\n  schedule: every 24 hours\n- url: /b\n  schedule: every monday 09:00\n  timezone: Asia/Tokyo\n",
		want: []string{"3:13 every 24 hours appengine UTC /a", "5:13 every monday 09:00 appengine Asia/Tokyo /b"},
	},
	{
		name: "sidekiq-cron", path: "config/schedule.yml", text: "first:\n  cron: '*/5 * * * *'\n  class: A\n:scheduler:\n  :schedule:\n    second:\n      cron: ['0 1 * * * Asia/Tokyo', {}]\n      class: B\n",
		want: []string{"2:10 */5 * * * * fugit - A", "7:15 0 1 * * * Asia/Tokyo fugit - B"},
	},
	{
		name: "Jenkinsfile", path: "ci/Jenkinsfile", text: "triggers {\n  cron('''TZ=Europe/Berlin\n    H 4 * * 1-5\n  ''')\n  pollSCM('H/15 * * * *')\n  // cron('0 0 * * *')\n}\n",
		want: []string{"3:5 H 4 * * 1-5 jenkins Europe/Berlin Jenkinsfile", "5:12 H/15 * * * * jenkins - Jenkinsfile"},
	},
	{
		name: "Celery", path: "beat.py", text: "from celery.schedules import crontab\nA = crontab(hour=3)\nB = crontab(minute=0, hour='*/2', day_of_week='mon-fri')\nC = crontab(minute=m)\n# D = crontab(minute=5)\n",
		want: []string{"2:5 * 3 * * * celery - A = crontab(hour=3)", "3:5 0 */2 * * mon-fri celery - B = crontab(minute=0, hour='*/2', day_of_week='mon-fri')"},
	},
	{
		name: "Laravel", path: "app/Console/Kernel.php", text: "<?php\n$schedule->command('a')->dailyAt('03:05');\n$schedule->job(new B)->hourly();\n$schedule->command('c')->cron('17 4 * * *');\n$schedule->command('d')->dailyAt(\"$h:$m\");\n",
		want: []string{"2:26 5 3 * * * php - $schedule->command('a')->dailyAt('03:05');", "3:24 0 * * * * php - $schedule->job(new B)->hourly();", "4:32 17 4 * * * php - $schedule->command('c')->cron('17 4 * * *');"},
	},
	{
		name: "whenever", path: "config/schedule.rb", text: "# every :day do\nevery :hour do\nend\nevery 1.day, at: '4:30 am' do\nend\nevery 10.minutes do\nend\n",
		want: []string{"2:1 0 * * * * vixie - every :hour do", "4:1 30 4 * * * vixie - every 1.day, at: '4:30 am' do", "6:1 */10 * * * * vixie - every 10.minutes do"},
	},
	{
		name: "@Scheduled", path: "Job.java", text: "class Job {\n  @Scheduled(cron = \"0 0 3 * * *\")\n  void run() {}\n}\n",
		want: []string{"2:22 0 0 3 * * * spring - @Scheduled(cron = \"0 0 3 * * *\")"},
	},
	{
		name: "Go literals", path: "jobs.go",
		text: "package a\n\nvar words = map[string]string{\n\t\"hourly\": \"0 * * * *\",\n}\n\nfunc f(c *C) {\n" +
			"\tc.AddFunc(\"5 4 * * *\", g) // cron \"1 2 * * *\"\n\thelp := \"cron: '6 4 * * *'\"\n\tc.AddFunc(map[string]string{\"@daily\": \"0 0 * * *\"}[x], g)\n}\n",
		want: []string{"8:13 5 4 * * * robfig - c.AddFunc(\"5 4 * * *\", g) // cron \"1 2 * * *\""},
	},
	{name: "a test of cron", path: "jobs_test.go", text: "package a\n\nvar cron = \"0 * * * *\"\n"},
	{name: "unknown YAML", path: "crontab.yaml", text: "foo:\n  second: \"*/5\"\n  command: x\n"},
}

func describe(e *lint.Entry) string {
	line, col := e.File.Position(e.Field.Start)
	zone := "-"
	if e.Zone != nil {
		zone = e.Zone.String()
	}
	text := fmt.Sprintf("%d:%d %s %v %s %s", line, col, e.Raw, e.Dialect, zone, e.Command)
	if e.Disabled {
		text += " disabled"
	}
	return text
}

// read gives a file to all formats of this package that know it.
func read(t testing.TB, path, text string, o *lint.Options) (parsed lint.Parsed) {
	t.Helper()
	f := lint.NewFile(path, []byte(text))
	for _, format := range Formats() {
		if !format.Match(path, f.Data) {
			continue
		}
		p, err := format.Parse(f, o)
		if err != nil {
			parsed.Errors = append(parsed.Errors, &lint.Error{File: path, Err: err})
		}
		if p != nil {
			parsed.Entries = append(parsed.Entries, p.Entries...)
			parsed.Settings = append(parsed.Settings, p.Settings...)
			parsed.Errors = append(parsed.Errors, p.Errors...)
		}
	}
	return parsed
}

func TestFormats(t *testing.T) {
	for _, ex := range examples {
		t.Run(ex.name, func(t *testing.T) {
			parsed := read(t, ex.path, ex.text, &ex.o)
			var got []string
			for _, e := range parsed.Entries {
				got = append(got, describe(e))
				if e.Err != nil {
					t.Errorf("%q: %v", e.Raw, e.Err)
				}
				if e.Identity == "" || strings.Contains(e.Identity, "\n") {
					t.Errorf("%q has identity %q", e.Raw, e.Identity)
				}
			}
			if len(parsed.Errors) != ex.faults && ex.faults > 0 {
				t.Errorf("%d faults, want %d: %v", len(parsed.Errors), ex.faults, parsed.Errors)
			}
			if strings.Join(got, "\n") != strings.Join(ex.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(ex.want, "\n"))
			}
		})
	}
}

// Identities and fields do not hang on line numbers: a line put on top moves
// positions and nothing else.
func TestIdentityIsStable(t *testing.T) {
	for _, ex := range examples {
		top := map[bool]string{true: "<?php\n", false: "# x\n"}[strings.HasSuffix(ex.path, ".php")]
		if strings.HasSuffix(ex.path, ".json") || strings.HasSuffix(ex.path, ".jsonc") || strings.HasPrefix(ex.text, "\ufeff") {
			continue
		}
		before, after := read(t, ex.path, ex.text, &ex.o), read(t, ex.path, top+ex.text, &ex.o)
		if len(before.Entries) != len(after.Entries) {
			t.Errorf("%s: %d entries, %d below a comment", ex.name, len(before.Entries), len(after.Entries))
			continue
		}
		for i, e := range before.Entries {
			if a := after.Entries[i]; a.Identity != e.Identity || a.Raw != e.Raw || a.Field.Start != e.Field.Start+len(top) {
				t.Errorf("%s: %q at %d became %q at %d", ex.name, e.Identity, e.Field.Start, a.Identity, a.Field.Start)
			}
		}
	}
}

func FuzzFormats(f *testing.F) {
	for _, ex := range examples {
		f.Add(ex.path, []byte(ex.text))
	}
	f.Add("a.yaml", []byte("apiVersion: v1\nkind: CronJob\nspec: &a\n  schedule: *a\n"))
	f.Add("values.yaml", []byte("a: &a\n  cron: [*a]\n"))
	f.Add("Cron", []byte("~ 0 0 0 0 A\n-"))
	f.Add("x.timer", []byte("[Timer]\nOnCalendar=a\\\n b\\"))
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		parsed := read(t, path, string(data), &lint.Options{})
		for _, e := range parsed.Entries {
			if e.Field.Start < 0 || e.Field.End > len(data) || e.Field.Start > e.Field.End || e.Span.Start < 0 || e.Span.End > len(data) {
				t.Fatalf("%s: field %v, span %v of %d bytes", path, e.Field, e.Span, len(data))
			}
			if (e.Schedule == nil) == (e.Err == nil) {
				t.Fatalf("%q: schedule %v, error %v", e.Raw, e.Schedule, e.Err)
			}
		}
	})
}

func TestTimespan(t *testing.T) {
	for text, want := range map[string]string{
		"90": "1m30s", "1h 30min": "1h30m0s", "2d": "48h0m0s", "5m": "5m0s", "100ms": "100ms", "1week": "168h0m0s",
		"": "", "x": "", "1 fortnight": "", "999999999y": "", "-5": "", "1h30": "1h0m30s",
	} {
		d, ok := Timespan(text)
		got := ""
		if ok {
			got = d.String()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Workflows of two repositories in one tree have nothing in common.
func TestGroupsOfRepositories(t *testing.T) {
	const workflow = "on:\n  schedule:\n    - cron: '17 3 * * *'\njobs: {}\n"
	for path, want := range map[string]string{
		".github/workflows/a.yml": "github", "workflows/a.yml": "github", "vendor/x/.github/workflows/a.yml": "github:vendor/x",
	} {
		p, err := githubFormat{}.Parse(lint.NewFile(path, []byte(workflow)), &lint.Options{})
		if err != nil || len(p.Entries) != 1 || p.Entries[0].Group != want {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
}
