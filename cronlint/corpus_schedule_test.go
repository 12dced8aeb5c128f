package cronlint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// TestCorpusSchedules says for each file of schedules how many jobs it has and
// what is found, no more and no less. Where that is not what the corpus' own
// list says, the reason stands beside it.
func TestCorpusSchedules(t *testing.T) {
	tests := []struct {
		file string
		jobs int
		want []string // "line rule severity"
	}{
		{file: "anacron/cronie.anacrontab", jobs: 3},
		{file: "anacron/debian.anacrontab", jobs: 3},
		// The list says HS120. That rule needs a number of machines; HS121 is the one for defaults that others use.
		{file: "ansible/certbot-defaults.yml", jobs: 1, want: []string{"6 HS121 warning"}},
		// Its values are variables of another file, see TestAnsibleRoles for both together.
		{file: "ansible/certbot-renew-cron.yml", jobs: 0, want: []string{"6 HS901 note"}},
		{file: "celery/paperless-beat-settings.py", jobs: 8, want: []string{"84 HS110 note", "95 HS110 note"}},
		{file: "cron.d/borgmatic", jobs: 1, want: []string{"3 HS101 note"}},
		// HS120 only with --hosts, see TestCorpusOptions; so for the other files of distributions.
		{file: "cron.d/cronie.0hourly", jobs: 1},
		{file: "cron.d/debian-dma", jobs: 1, want: []string{"3 HS102 note"}},
		{file: "cron.d/debian-e2scrub_all", jobs: 2},
		{file: "cron.d/debian-munin", jobs: 4, want: []string{"7 HS102 note"}},
		{file: "cron.d/debian-php", jobs: 1},
		{file: "cron.d/debian-rancid", jobs: 0},
		{file: "cron.d/debian-sysstat", jobs: 2},
		{file: "crontab/bitrewards.crontab", jobs: 1},
		// A file of faults, compared line by line in TestChkcrontabOracle.
		{file: "crontab/chkcrontab-tests.system.crontab", jobs: 34, want: []string{"3 HS001 error", "16 HS004 warning", "18 HS001 error", "19 HS110 warning", "21 HS001 error", "25 HS141 warning", "29 HS001 error", "31 HS001 error", "33 HS002 error", "36 HS001 error", "38 HS001 error", "39 HS110 warning", "41 HS005 note", "43 HS005 note", "45 HS001 error", "47 HS001 error", "49 HS001 error", "51 HS001 error", "53 HS111 note", "57 HS001 error", "59 HS001 error", "61 HS001 error", "65 HS001 error", "68 HS110 note", "71 HS001 error"}},
		{file: "crontab/cronstable-crontz.crontab", jobs: 3, want: []string{"18 HS005 note", "20 HS110 note"}},
		{file: "crontab/debian-default.system.crontab", jobs: 4},
		// The list says HS101 of each, too: HS110 says it once, of both.
		{file: "crontab/eff-acp.system.crontab", jobs: 2, want: []string{"1 HS110 note"}},
		{file: "crontab/fbopen.user.crontab", jobs: 5},
		{file: "crontab/laravel-every-minute.crontab", jobs: 1},
		{file: "crontab/netkes.system.crontab", jobs: 4, want: []string{"12 HS142 error", "12 HS141 error", "13 HS142 error", "13 HS141 error", "14 HS142 error", "14 HS141 error"}},
		{file: "crontab/supercronic-periodic.crontab", jobs: 6, want: []string{"4 HS110 warning"}},
		// Seven fields: supercronic, which needs no final newline.
		{file: "crontab/supercronic-zombie-noeol.crontab", jobs: 1},
		// Random ranges (~) take part in nothing.
		{file: "crontab/systemd-cron-test.crontab", jobs: 10, want: []string{"6 HS003 warning", "20 HS110 warning"}},
		// Besides HS104: the four ecosystems start in the same minute.
		{file: "dependabot/nomad.yml", jobs: 4, want: []string{"12 HS104 warning", "12 HS110 warning", "25 HS104 warning", "38 HS104 warning", "53 HS104 warning"}},
		{file: "gh-workflow/actionlint-schedule_timezone-CRLF.yaml", jobs: 3, want: []string{"7 HS103 warning", "7 HS110 note"}},
		{file: "gh-workflow/celery-semgrep-unquoted.yml", jobs: 1},
		{file: "gh-workflow/grpc-go-stale.yml", jobs: 1},
		{file: "gh-workflow/haproxy-aws-lc.yml", jobs: 1, want: []string{"5 HS103 warning"}},
		{file: "gh-workflow/haproxy-codespell.yml", jobs: 1, want: []string{"5 HS103 warning"}},
		{file: "gh-workflow/haproxy-coverity.yml", jobs: 1, want: []string{"10 HS103 warning"}},
		{file: "gh-workflow/haproxy-fedora-rawhide.yml", jobs: 1, want: []string{"5 HS103 warning"}},
		{file: "gh-workflow/haproxy-netbsd.yml", jobs: 1, want: []string{"5 HS103 warning"}},
		{file: "gh-workflow/haproxy-quictls.yml", jobs: 1, want: []string{"9 HS103 warning"}},
		{file: "gh-workflow/haproxy-wolfssl.yml", jobs: 1, want: []string{"5 HS103 warning"}},
		// A placeholder that GitHub fills in.
		{file: "gh-workflow/starter-stale-template.yml", jobs: 0},
		{file: "helm/nextcloud-cronjob.tpl.yaml", jobs: 0, want: []string{"2 HS901 note"}},
		{file: "helm/sentry-cleanup.tpl.yaml", jobs: 0, want: []string{"1 HS901 note"}},
		{file: "jenkins/public-example.Jenkinsfile", jobs: 1},
		{file: "k8s/emojivoto-cronjob.yaml", jobs: 1, want: []string{"7 HS102 note", "7 HS161 note", "7 HS162 note"}},
		{file: "k8s/kube-linter-cronjob-multidoc.yaml", jobs: 2, want: []string{"34 HS110 note", "34 HS161 note", "34 HS162 note", "55 HS161 note", "55 HS162 note"}},
		// Three jobs at different times; their comments state the times, so the fixes are unsafe.
		{file: "k8s/mpm-cronjobs-multidoc.yaml", jobs: 3, want: []string{"24 HS101 note", "24 HS162 note", "80 HS162 note", "149 HS101 note", "149 HS162 note"}},
		{file: "misc/apcron.yaml", jobs: 0},
		// 13:13 on the 31st of January or any Sunday: read differently by others.
		{file: "nomad/periodic-simple.nomad", jobs: 1, want: []string{"16 HS003 warning"}},
		{file: "nomad/snapshot-agent.nomad.hcl", jobs: 1, want: []string{"9 HS102 note"}},
		{file: "php/pterodactyl-Kernel.php", jobs: 5, want: []string{"32 HS110 warning"}},
		{file: "quartz/score-application-spring-cron.yml", jobs: 1, want: []string{"71 HS101 note"}},
		{file: "ruby/eff-schedule.rb", jobs: 1, want: []string{"22 HS101 note"}},
		{file: "serverless/wrangler-every-minute.jsonc", jobs: 1},
		{file: "serverless/wrangler.jsonc", jobs: 1},
		// HS153 only with --hosts, see TestCorpusOptions.
		{file: "systemd/borgmatic-sample.timer", jobs: 1},
		{file: "systemd/debian-apt-daily-upgrade.timer", jobs: 1},
		{file: "systemd/debian-apt-daily.timer", jobs: 1},
		// The list says a warning. A rotation of logs asks nothing of other machines: a note.
		{file: "systemd/debian-atop-rotate.timer", jobs: 1, want: []string{"6 HS150 note"}},
		{file: "systemd/debian-certbot.timer", jobs: 1},
		{file: "systemd/debian-chkrootkit.timer", jobs: 0, want: []string{"7 HS154 note"}},
		// The list says HS153, LOW. Whether 60 s are too short depends on the number of machines.
		{file: "systemd/debian-e2scrub_all.timer", jobs: 1},
		{file: "systemd/debian-fstrim.timer", jobs: 1},
		// HS152 only with --hosts.
		{file: "systemd/debian-logrotate.timer", jobs: 1, want: []string{"6 HS150 note", "7 HS151 warning"}},
		{file: "systemd/debian-man-db.timer", jobs: 1},
		{file: "systemd/debian-pg_basebackup@.timer", jobs: 1},
		{file: "systemd/debian-pg_dump@.timer", jobs: 1},
		{file: "systemd/debian-phpsessionclean.timer", jobs: 1},
		{file: "systemd/debian-vnstat_daily.timer", jobs: 1},
		// rate() counts from the creation of the schedule and is not found.
		{file: "terraform/eventbridge-with-schedules.tf", jobs: 3, want: []string{"35 HS006 warning", "35 HS101 note"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			res, err := Lint(context.Background(), []string{corpus(t, tt.file)}, lint.Options{Now: fixedNow, OptIn: []string{"code"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range res.Errors {
				t.Error(e)
			}
			if got := found(t, res); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if len(res.Entries) != tt.jobs {
				t.Errorf("%d jobs, want %d", len(res.Entries), tt.jobs)
			}
		})
	}
}

// found lists the problems as "line rule severity".
func found(t *testing.T, res *Result) (got []string) {
	for _, p := range res.Problems {
		got = append(got, fmt.Sprintf("%d %s %s", p.Line, p.Rule.ID, p.Severity))
		t.Logf("%s: %s: %s [%s]", p.Location, p.Severity, p.Message, p.Rule.ID)
	}
	return got
}

// TestCorpusOptions lints files of the corpus for a fleet, a dialect or
// together, and looks for single findings.
func TestCorpusOptions(t *testing.T) {
	fleet := lint.Options{Hosts: 500}
	tests := []struct {
		name    string
		files   []string
		o       lint.Options
		want    string // "line rule severity" of one finding
		message string // a part of its message
		absent  string // a rule that must not be found
	}{
		{name: "debian hour", files: []string{"crontab/debian-default.system.crontab"}, o: fleet, want: "21 HS120 warning", message: "500 machines"},
		{name: "cronie hour", files: []string{"cron.d/cronie.0hourly"}, o: fleet, want: "5 HS120 warning"},
		{name: "borgmatic cron", files: []string{"cron.d/borgmatic"}, o: fleet, want: "3 HS120 warning", message: "500 machines", absent: "HS101"},
		{name: "borgmatic timer", files: []string{"systemd/borgmatic-sample.timer"}, o: fleet, want: "7 HS153 warning", message: "50 of them run at once"},
		{name: "e2scrub", files: []string{"systemd/debian-e2scrub_all.timer"}, o: fleet, want: "7 HS153 note"},
		{name: "certbot", files: []string{"systemd/debian-certbot.timer"}, o: fleet, absent: "HS153"},
		{name: "logrotate", files: []string{"systemd/debian-logrotate.timer"}, o: fleet, want: "8 HS152 note", absent: "HS120"},
		{name: "cron zone on debian", files: []string{"crontab/cronstable-crontz.crontab"}, o: lint.Options{Dialect: "debian"}, want: "15 HS144 warning"},
		{name: "no final newline on debian", files: []string{"crontab/supercronic-zombie-noeol.crontab"}, o: lint.Options{Dialect: "debian"}, want: "1 HS140 error"},
		{name: "systemd 228", files: []string{"systemd/debian-fstrim.timer"}, o: lint.Options{SystemdVersion: 228}, want: "11 HS156 warning"},
		{
			name: "haproxy's Thursday", want: "5 HS110 warning", message: "4 jobs start in the same minute, every week",
			files: []string{
				"gh-workflow/haproxy-aws-lc.yml", "gh-workflow/haproxy-codespell.yml", "gh-workflow/haproxy-coverity.yml",
				"gh-workflow/haproxy-fedora-rawhide.yml", "gh-workflow/haproxy-netbsd.yml", "gh-workflow/haproxy-quictls.yml",
				"gh-workflow/haproxy-wolfssl.yml",
			},
		},
		{name: "a timer and its cron twin", files: []string{"cron.d/debian-php", "systemd/debian-phpsessionclean.timer"}, absent: "HS110"},
		{name: "munin with dma", files: []string{"cron.d/debian-munin", "cron.d/debian-dma"}, want: "3 HS110 note", message: "2 jobs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var paths []string
			for _, f := range tt.files {
				paths = append(paths, corpus(t, f))
			}
			tt.o.Now = fixedNow
			res, err := Lint(context.Background(), paths, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			got := found(t, res)
			i := slices.Index(got, tt.want)
			switch {
			case tt.want != "" && i < 0:
				t.Errorf("got %q, want %q among them", got, tt.want)
			case tt.want != "" && !strings.Contains(res.Problems[i].Message, tt.message):
				t.Errorf("message %q lacks %q", res.Problems[i].Message, tt.message)
			case tt.absent != "" && hasRule(res.Problems, tt.absent):
				t.Errorf("%s is found: %q", tt.absent, got)
			}
		})
	}
}

// The crontabs of the incident lab: five jobs in each minute, and their healthy
// twins with a sleep of their own.
func TestLabCrontabs(t *testing.T) {
	for name, want := range map[string][]string{
		"S4": {"4 HS110 warning"}, "S7": {"4 HS110 warning"}, "S4b": nil, "S7b": nil,
	} {
		res, err := Lint(context.Background(), []string{corpus(t, "../../lab/"+name+"/crontab.txt")}, lint.Options{Now: fixedNow})
		if err != nil {
			t.Fatal(err)
		}
		if got := found(t, res); !slices.Equal(got, want) || len(res.Entries) != 5 {
			t.Errorf("%s: %d jobs, %q, want %q", name, len(res.Entries), got, want)
		}
	}
}

// The hash of a known Jenkins job gives the minutes that it will get.
func TestCorpusJenkins(t *testing.T) {
	o := lint.Options{Now: fixedNow, JenkinsJob: "logs/download"}
	res, err := Lint(context.Background(), []string{corpus(t, "jenkins/public-example.Jenkinsfile")}, o)
	if err != nil || len(res.Entries) != 1 {
		t.Fatalf("%d entries, %v", len(res.Entries), err)
	}
	if s := res.Entries[0].Schedule; s.Drawn || s.PerDay() != 48 {
		t.Errorf("H/30 of a known job: drawn %v, %d starts a day", s.Drawn, s.PerDay())
	}
}

// The comments of chkcrontab's own test file say how many faults each line
// has. A fault that both see is an error here; the table holds the rest.
func TestChkcrontabOracle(t *testing.T) {
	differ := map[int]string{
		7:  "a $ in an assignment is taken literally: no fault",
		9:  "an empty value is allowed",
		12: "an empty value is allowed",
		23: "whether a user exists is not known here",
		25: "a bare % in a text is a warning here",
		33: "2-1 is accepted by cron and never fires: HS002",
		41: "*/61 is accepted by cron: minute 0, HS005",
		43: "1-2/61 is accepted by cron: minute 1, HS005",
		68: "@monthly with a command in place of the user: not decided here",
	}
	file := corpus(t, "crontab/chkcrontab-tests.system.crontab")
	res, err := Lint(context.Background(), []string{file}, lint.Options{Now: fixedNow, Dialect: "debian"})
	if err != nil {
		t.Fatal(err)
	}
	faulty := map[int]bool{}
	for _, p := range res.Problems {
		if p.Rule.ID == "HS001" {
			faulty[p.Line] = true
		}
	}
	src := res.Sources[0]
	checked := 0
	for n := 1; n < src.Lines(); n++ {
		comment := src.Line(n)
		if !strings.HasPrefix(comment, "# FAIL ") && !strings.HasPrefix(comment, "# WARN ") {
			continue
		}
		line := n + 1
		want := strings.HasPrefix(comment, "# FAIL ")
		checked++
		if _, known := differ[line]; known {
			continue
		}
		if want != faulty[line] && !(strings.HasPrefix(comment, "# WARN ") && !faulty[line]) {
			t.Errorf("line %d %q: a fault %v, chkcrontab says %q", line, src.Line(line), faulty[line], comment)
		}
	}
	if checked < 25 {
		t.Errorf("only %d lines were compared", checked)
	}
}
