package cronlint

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/cronlint/lint"
)

func TestSuppression(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // active problems
		kinds      []string // of the accepted ones
	}{
		{
			"on the line above", "# herdscan: ignore[HS301] cold once a year\nproxy_cache one;\n",
			[]string{"2 HS302 warning"},
			[]string{"HS301 ignore cold once a year"},
		},
		{
			"on the line itself, two rules", "proxy_cache one; # herdscan: ignore[HS301, HS302] known\n", nil,
			[]string{"HS301 ignore known", "HS302 ignore known"},
		},
		{
			"comments and blank lines between", "# herdscan: ignore[all]\n# why: see the wiki\n\nproxy_cache one;\n", nil,
			[]string{"HS301 ignore ", "HS302 ignore "},
		},
		{
			"whole file", "# herdscan: file ignore[HS301]\n\nserver {\n}\nproxy_cache one;\n",
			[]string{"5 HS302 warning"},
			[]string{"HS301 ignore "},
		},
		{
			"snoozed", "# herdscan: snooze[2026-11-30, HS301] next release\nproxy_cache one;\n",
			[]string{"2 HS302 warning"},
			[]string{"HS301 snooze next release"},
		},
		{
			"snooze has run out", "# herdscan: snooze[2026-11-29] next release\nproxy_cache one;\n",
			[]string{"1 HS900 warning", "2 HS301 warning", "2 HS302 warning"},
			nil,
		},
		{
			"unused, unknown, not understood", "# herdscan: ignore[HS310]\nproxy_cache one; # herdscan: ignore[HS301,HS302]\n" +
				"# herdscan: ignore[HS999]\n# herdscan: mute\n# herdscan: pin\n# herdscan: ignore HS301\n# herdscan: snooze[soon]\n",
			[]string{"1 HS900 warning", "3 HS900 warning", "4 HS900 warning", "5 HS900 warning", "6 HS900 warning", "7 HS900 warning"},
			[]string{"HS301 ignore ", "HS302 ignore "},
		},
		{"a text that is no comment", "set $a \"herdscan: ignore[HS301]\";\nproxy_cache one;\n", []string{"2 HS301 warning", "2 HS302 warning"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				res := lintText(t, "a.conf", strings.ReplaceAll(tt.text, "\n", eol), Options{})
				if got := brief(res); !slices.Equal(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				var kinds []string
				for _, p := range res.Problems {
					if !p.Active() {
						kinds = append(kinds, p.Rule.ID+" "+p.Suppressed.Kind+" "+p.Suppressed.Reason)
					}
				}
				if !slices.Equal(kinds, tt.kinds) {
					t.Errorf("accepted %q, want %q", kinds, tt.kinds)
				}
			}
		})
	}
}

// TestUnusedNeedsTheRule leaves comments alone whose rule did not run.
func TestUnusedNeedsTheRule(t *testing.T) {
	text := "# herdscan: ignore[HS301]\nlog_format a b;\nserver {\n}\n"
	if got := brief(lintText(t, "a.conf", text, Options{Disable: []string{"HS301"}})); len(got) > 0 {
		t.Errorf("rule switched off: %q", got)
	}
	if got := brief(lintText(t, "a.conf", text, Options{})); len(got) > 0 {
		t.Errorf("a rule across files, of which one was seen: %q", got)
	}
}

func TestRulesOption(t *testing.T) {
	got := brief(lintText(t, "a.conf", cached, Options{Rules: []string{"HS302"}}))
	if !slices.Equal(got, []string{"1 HS302 warning"}) {
		t.Errorf("got %q", got)
	}
}

func TestCommentKinds(t *testing.T) {
	for _, text := range []string{
		"# herdscan: pin", "x // herdscan: pin", "-- herdscan: pin", "; herdscan: pin", "/* herdscan: pin */",
		"<!-- herdscan: pin -->", " * herdscan: pin", "REM herdscan: pin",
	} {
		ds := lint.NewFile("a", []byte(text)).Directives()
		if len(ds) != 1 || ds[0].Err != nil || !ds[0].Notes.Pin {
			t.Errorf("%q: %+v", text, ds)
		}
	}
}

func TestAnnotations(t *testing.T) {
	ds := lint.NewFile("a", []byte("# herdscan: pin window=01:00-05:30 after=backup duration=1h30m hosts=200 weight=2.5 reason=\"billing, at night\"\n")).Directives()
	want := lint.Annotations{
		Pin: true, PinReason: "billing, at night", Window: "01:00-05:30", After: "backup", Duration: 90 * time.Minute, Hosts: 200, Weight: 2.5,
	}
	if len(ds) != 1 || ds[0].Err != nil {
		t.Fatalf("%+v", ds)
	}
	if d := cmp.Diff(want, ds[0].Notes); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"window=1-5", "duration=0", "duration=x", "hosts=0", "weight=NaN", "weight=-1", "speed=9", ""} {
		if ds := lint.NewFile("a", []byte("# herdscan: "+bad+"\n")).Directives(); ds[0].Err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestBaseline(t *testing.T) {
	first := lintText(t, "a.conf", cached, Options{})
	var file bytes.Buffer
	if err := lint.NewBaseline(first.Problems).Write(&file); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(file.String(), "\"line\"") {
		t.Error("a line number in the baseline")
	}
	base, err := lint.ReadBaseline(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	moved := lintText(t, "a.conf", "# new\n\nserver {\n}\nproxy_cache one;\nproxy_cache_bypass $x;\n", Options{Baseline: base})
	if got := brief(moved); len(got) > 0 || len(moved.Problems) != 2 || moved.Problems[0].Suppressed.Kind != "baseline" {
		t.Errorf("known problems, moved: got %q of %d", got, len(moved.Problems))
	}
	more := lintText(t, "a.conf", "proxy_cache one;\nfastcgi_cache two;\n", Options{Baseline: base})
	if got := brief(more); !slices.Equal(got, []string{"2 HS301 warning", "2 HS302 warning"}) {
		t.Errorf("new problems: got %q", got)
	}
	mended := lintText(t, "a.conf", "proxy_cache one;\nproxy_cache_lock on;\n", Options{Baseline: base})
	if len(mended.Gone) != 1 || mended.Gone[0].Rule != "HS301" {
		t.Errorf("gone %+v", mended.Gone)
	}
	var again bytes.Buffer
	if err := lint.NewBaseline(moved.Problems).Write(&again); err != nil || again.String() != file.String() {
		t.Errorf("a baseline of accepted problems differs: %v\n%s", err, again.String())
	}
	for _, bad := range []string{"", "{}", `{"schema":"other/1"}`, `{"schema":"herdscan-baseline/1","problems":[{}]}`} {
		if _, err := lint.ReadBaseline(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestEqualProblemsDiffer numbers problems that are alike in all but place.
func TestEqualProblemsDiffer(t *testing.T) {
	res := lintText(t, "a.conf", strings.Repeat("server {\n  proxy_cache one;\n}\n", 3), Options{})
	seen := make(map[string]bool)
	for _, p := range res.Problems {
		if seen[p.Fingerprint] {
			t.Errorf("%s %s: fingerprint twice", p.Location, p.Rule.ID)
		}
		seen[p.Fingerprint] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d problems, want 6", len(seen))
	}
}

// TestFixes applies the edits of the nginx rules and lints again.
func TestFixes(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll("location / {\n\tproxy_pass http://a;\n\tproxy_cache one; # keep\n}\nserver {\n}\n", "\n", eol)
		for range 5 {
			res := lintText(t, "a.conf", text, Options{})
			i := slices.IndexFunc(res.Problems, func(p Problem) bool { return p.Fix != nil })
			if i < 0 {
				break
			}
			e := res.Problems[i].Fix
			if e.Safe || e.Why == "" {
				t.Errorf("an edit that changes what visitors get is not safe: %+v", e)
			}
			text = text[:e.Span.Start] + e.New + text[e.Span.End:]
		}
		if got := brief(lintText(t, "a.conf", text, Options{})); len(got) > 0 {
			t.Errorf("still %q in\n%s", got, text)
		}
		if lines := strings.Count(text, "\n"); lines != strings.Count(text, eol) || lines != 9 {
			t.Errorf("line ends changed:\n%q", text)
		}
	}
}

// TestMendNginx applies all edits at once: two of them add lines at one place,
// and bring a third problem to light, which is mended too.
func TestMendNginx(t *testing.T) {
	o := Options{Now: fixedNow}
	res := lintText(t, "a.conf", "location / {\n  proxy_pass http://a;\n  proxy_cache one;\n}\nserver {\n}\n", o)
	if changes, errs := Mend(res, o, false); len(changes) > 0 || len(errs) > 0 {
		t.Errorf("nothing here is safe to change unasked: %v %v", changes, errs)
	}
	changes, errs := Mend(res, o, true)
	if len(changes) != 1 || len(errs) > 0 {
		t.Fatalf("changes %v, errors %v", changes, errs)
	}
	if got := brief(lintText(t, "a.conf", string(changes[0].After), o)); len(got) > 0 {
		t.Errorf("after the change: %q in\n%s", got, changes[0].After)
	}
}

// TestMendRetry adds jitter to policies in both spellings, YAML and properties.
func TestMendRetry(t *testing.T) {
	for _, tt := range []struct{ file, text string }{
		{"application.yml", "resilience4j.retry:\r\n  instances:\r\n    a:\r\n      waitDuration: 2s # why\r\n      maxAttempts: 4\r\n"},
		{"application.yml", "resilience4j:\n  retry:\n    configs:\n      default:\n        wait-duration: 2s\n        enable-exponential-backoff: true\n"},
		{"application.properties", "resilience4j.retry.instances.a.max-attempts=4\nresilience4j.retry.instances.a.wait-duration=2s\n"},
	} {
		o := Options{Now: fixedNow}
		res := lintText(t, tt.file, tt.text, o)
		changes, errs := Mend(res, o, true)
		if len(changes) != 1 || len(errs) > 0 {
			t.Fatalf("%q: changes %v, errors %v", tt.text, changes, errs)
		}
		after := lintText(t, tt.file, string(changes[0].After), o)
		if got := brief(after); len(got) > 0 || len(after.Settings) != len(res.Settings) {
			t.Errorf("still %q in\n%s", got, changes[0].After)
		}
	}
}

// In source code only real comments speak to herdscan, not texts that show one.
func TestCommentsOfSourceCode(t *testing.T) {
	const text = "from celery.schedules import crontab\nHELP = '''\n# herdscan: ignore[HS101]\n'''\nHINT = \"# herdscan: pin\"\n" +
		"A = crontab(minute=0, hour=3)  # herdscan: ignore[HS101] alone\n"
	res := lintText(t, "beat.py", text, Options{OptIn: []string{"code"}})
	if got := brief(res); len(got) != 0 || len(res.Problems) != 1 || res.Problems[0].Suppressed == nil {
		t.Errorf("%q, %+v", got, res.Problems)
	}
}
