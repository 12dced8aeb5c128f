package cronlint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// lintStdin lints one file of a folder of its own, and returns the result.
func lintStdin(t testing.TB, name, text string, o lint.Options) *Result {
	t.Helper()
	o.Now = fixedNow
	o.Stdin, o.StdinName = strings.NewReader(text), name
	res, err := Lint(context.Background(), []string{"-"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// randomFile writes a file of jobs in one of the formats that can be fixed.
func randomFile(r *rand.Rand) (name, text string) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	five := func() string {
		minute := pick("0", "0", "0", "*/5", "*/10", "*/15", "17", "30", "5,35", "*/7", "00", "*", "0-59/20", "10-59/20", "58")
		hour := pick("*", "*", "3", "4", "*/2", "1-5", "0", "23", "2,14")
		return strings.Join([]string{minute, hour, pick("*", "*", "1", "*/2"), pick("*", "*", "1-6"), pick("*", "*", "1", "mon-fri")}, " ")
	}
	n := 1 + r.IntN(12)
	end := pick("\n", "\n", "\r\n")
	var b strings.Builder
	switch r.IntN(5) {
	case 0:
		name = "etc/crontab"
		for i := range n {
			sched := five()
			if r.IntN(5) == 0 {
				sched = pick("@hourly", "@daily", "@weekly", "@monthly", "@reboot")
			}
			comment := pick("", "", "# herdscan: pin reason=x"+end, "# herdscan: window=01:00-05:00"+end, "# at 3:00"+end, "# herdscan: duration=20m"+end)
			fmt.Fprintf(&b, "%s%s%sroot%s/opt/job-%d --flag\\%% > /dev/null%s", comment, sched, pick(" ", "\t", "   "), pick(" ", "\t"), i, end)
		}
		if r.IntN(4) == 0 {
			return name, strings.TrimSuffix(b.String(), end)
		}
	case 1:
		name = ".github/workflows/w.yml"
		b.WriteString("on:" + end + "  schedule:" + end)
		for range n {
			q := pick("'", `"`, "'")
			fmt.Fprintf(&b, "    - cron: %s%s%s%s%s", q, five(), q, pick("", "  # nightly", "  # daily at 03:00"), end)
			b.WriteString(pick("", "", "      timezone: Europe/Berlin"+end, "      timezone: Australia/Lord_Howe"+end))
		}
		b.WriteString("jobs: {}" + end)
	case 2:
		name = "k8s/jobs.yaml"
		for i := range n {
			fmt.Fprintf(&b, "---%sapiVersion: batch/v1%skind: CronJob%smetadata:%s  name: job-%d%sspec:%s  schedule: \"%s\"%s", end, end, end, end, i, end, end, five(), end)
		}
	case 3:
		name = "main.tf"
		for i := range n {
			fmt.Fprintf(&b, "resource \"aws_scheduler_schedule\" \"s%d\" {%s  schedule_expression = \"cron(%s %s * * ? *)\"%s}%s",
				i, end, pick("0", "0/5", "7", "*"), pick("*", "3", "0"), end, end)
		}
	default:
		name = "backup.timer"
		fmt.Fprintf(&b, "[Timer]%sOnCalendar=%s%s", end, pick("daily", "hourly", "Mon *-*-* 03:00", "*:0/15", "*-*-* 04:17"), end)
		b.WriteString(pick("", "Persistent=true"+end, "AccuracySec=1h"+end, "RandomizedDelaySec=10m"+end, "OnCalendar=weekly"+end))
	}
	return name, b.String()
}

// The rewrite contract, on random files: every change is proved, only the
// bytes of edits differ, and a second round changes nothing.
func TestMendContract(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	changed := 0
	for range 250 {
		name, text := randomFile(r)
		unsafe := r.IntN(2) == 0
		res := lintStdin(t, name, text, lint.Options{})
		changes, errs := Mend(res, lint.Options{Now: fixedNow}, unsafe)
		for _, err := range errs {
			t.Errorf("proof failed: %v\n%s", err, text)
		}
		if len(changes) == 0 {
			continue
		}
		changed++
		c := changes[0]
		onlyEdits(t, &c)
		if len(c.Refused) > 0 {
			t.Errorf("refused %v in\n%s", c.Refused, text)
		}
		again := lintStdin(t, name, string(c.After), lint.Options{})
		more, errs := Mend(again, lint.Options{Now: fixedNow}, unsafe)
		if len(errs) > 0 || len(more) > 0 && string(more[0].After) != string(c.After) {
			t.Errorf("a second fix changes more (%v):\n%s\nfirst:\n%s", errs, text, c.Diff())
			for _, m := range more {
				t.Errorf("second:\n%s", m.Diff())
			}
		}
		if t.Failed() {
			return
		}
	}
	if changed < 120 {
		t.Errorf("only %d of 250 files were changed", changed)
	}
}

// onlyEdits checks that what lies between the edits is as it was.
func onlyEdits(t *testing.T, c *Change) {
	t.Helper()
	before, after := string(c.Before), string(c.After)
	at := 0
	for _, e := range c.Applied {
		keep := before[at:e.Span.Start]
		if !strings.HasPrefix(after, keep+e.New) {
			t.Fatalf("bytes outside of an edit changed:\n%s\n%s", c.Before, c.After)
		}
		after = after[len(keep)+len(e.New):]
		at = e.Span.End
	}
	if after != before[at:] {
		t.Fatalf("bytes behind the last edit changed:\n%s\n%s", c.Before, c.After)
	}
}

func TestMendWrites(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "app.crontab")
	text := "SHELL=/bin/sh\n\n0 * * * *\t/opt/a\n0 * * * *  /opt/b  \n0 * * * * /opt/c"
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	o := lint.Options{Now: fixedNow}
	res, err := Lint(context.Background(), []string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	changes, errs := Mend(res, o, false)
	if len(errs) > 0 || len(changes) != 1 {
		t.Fatalf("%d changes, %v", len(changes), errs)
	}
	if err := changes[0].Write(file); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(file)
	info, _ := os.Stat(file)
	if string(got) != string(changes[0].After) || info.Mode().Perm() != 0o640 {
		t.Errorf("wrote %q with mode %v", got, info.Mode())
	}
	if err := changes[0].Write(file); err == nil {
		t.Error("a file that has changed since was overwritten")
	}
	diff := changes[0].Diff()
	for _, want := range []string{"--- a/", "@@ -1,5 +1,5 @@\n", "-0 * * * *\t/opt/a\n", "\\ No newline at end of file\n"} {
		if !strings.Contains(diff, want) {
			t.Errorf("diff lacks %q:\n%s", want, diff)
		}
	}
	if strings.Count(diff, "No newline") != 1 {
		t.Errorf("the newline was not added:\n%s", diff)
	}
}
