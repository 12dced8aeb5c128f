//go:build unix

package cronlint_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/herdscan/herdscan/cronlint"
)

const (
	repositoryFiles = 10_000
	scheduleFiles   = 2_000
)

// BenchmarkRepository compares a run over a repository of 10,000 files, 2,000
// of them with schedules, with a grep that looks for "cron" in the same files,
// which both have read before. x-grep is the ratio of the times by the clock,
// with all cores for the run and the one that grep uses. The ratio of the times
// on the processors, cpu-x-grep, is steadier on a machine that does other work.
func BenchmarkRepository(b *testing.B) {
	dir := b.TempDir()
	writeRepository(b, dir)
	grep(b, dir) // warms the cache
	best := grep(b, dir)
	for range 4 {
		best = best.least(grep(b, dir))
	}
	own := cost{clock: time.Hour, cpu: time.Hour}
	for b.Loop() {
		start, used := time.Now(), processorTime(b)
		res, err := cronlint.Lint(b.Context(), []string{dir}, cronlint.Options{})
		if err != nil {
			b.Fatal(err)
		}
		own = own.least(cost{time.Since(start), processorTime(b) - used})
		if res.Files.Seen != repositoryFiles || res.Files.Recognised != scheduleFiles {
			b.Fatalf("saw %d files, knew %d", res.Files.Seen, res.Files.Recognised)
		}
	}
	b.ReportMetric(best.clock.Seconds()*1000, "grep-ms")
	b.ReportMetric(own.clock.Seconds()*1000, "lint-ms")
	b.ReportMetric(own.clock.Seconds()/best.clock.Seconds(), "x-grep")
	b.ReportMetric(own.cpu.Seconds()/best.cpu.Seconds(), "cpu-x-grep")
}

// A cost is what a run takes, by the clock and on the processors.
type cost struct{ clock, cpu time.Duration }

func (c cost) least(o cost) cost { return cost{min(c.clock, o.clock), min(c.cpu, o.cpu)} }

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Skip(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func grep(b *testing.B, dir string) cost {
	cmd := exec.CommandContext(b.Context(), "grep", "-rE", "cron", dir)
	cmd.Stdout = new(bytes.Buffer) // with /dev/null, grep stops at the first line of a file
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Skip("no grep: ", err)
	}
	return cost{time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// BenchmarkLongCrontab judges 100,000 lines that all start together, and as
// many that hardly ever do.
func BenchmarkLongCrontab(b *testing.B) {
	const lines = 100_000
	tests := map[string]func(i int) string{
		"together": func(int) string { return "0 * * * *" },
		"apart": func(i int) string {
			return fmt.Sprintf("%d %d %d %d *", i%60, i/60%24, i/1440%28+1, i/40320+1)
		},
		"lists": func(i int) string {
			return fmt.Sprintf("%d,%d,%d %d,%d * * %d", i%20, 20+i/7%20, 40+i/11%20, i/13%12, 12+i/17%12, i%7)
		},
	}
	for name, schedule := range tests {
		b.Run(name, func(b *testing.B) {
			var text strings.Builder
			for i := range lines {
				fmt.Fprintf(&text, "%s /opt/job%d\n", schedule(i), i)
			}
			file := filepath.Join(b.TempDir(), "long.crontab")
			if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := cronlint.Lint(b.Context(), []string{file}, cronlint.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func writeRepository(b *testing.B, dir string) {
	for i := range repositoryFiles {
		name, text := sourceFile(i)
		if i%(repositoryFiles/scheduleFiles) == 0 {
			name, text = scheduleFile(i)
		}
		file := filepath.Join(dir, fmt.Sprintf("service%02d", i/100), name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

func sourceFile(i int) (name, text string) {
	switch i % 4 {
	case 0:
		return fmt.Sprintf("src/file%d.go", i),
			"package src\n\n" + strings.Repeat("// Total adds the amounts of an order.\nfunc Total(amounts []int) (sum int) {\n\treturn sum\n}\n\n", 60)
	case 1:
		return fmt.Sprintf("doc/page%d.md", i), "# Page\n\n" + strings.Repeat("The order service keeps its state in one table.\n", 120)
	case 2:
		return fmt.Sprintf("web/part%d.ts", i), strings.Repeat("export const label = (n: number) => `${n} items`;\n", 100)
	}
	return fmt.Sprintf("conf/values%d.yaml", i), "replicas: 3\nimage: shop\n" + strings.Repeat("env:\n  - name: LEVEL\n    value: info\n", 40)
}

func scheduleFile(i int) (name, text string) {
	minute, hour := i/5%60, i/300%24
	switch i / 5 % 4 {
	case 0:
		return fmt.Sprintf("etc/cron.d/job%d", i), fmt.Sprintf("%d %d * * * root /opt/job%d\n", minute, hour, i)
	case 1:
		return fmt.Sprintf("etc/job%d.timer", i),
			fmt.Sprintf("[Timer]\nOnCalendar=*-*-* %02d:%02d:00\nRandomizedDelaySec=60\n\n[Install]\nWantedBy=timers.target\n", hour, minute)
	case 2:
		return fmt.Sprintf(".github/workflows/w%d.yml", i), fmt.Sprintf(
			"on:\n  schedule:\n    - cron: '%d %d * * 1'\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n%s",
			minute, hour, strings.Repeat("      - run: make test\n", 30))
	}
	return fmt.Sprintf("k8s/job%d.yaml", i), fmt.Sprintf(
		"apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: job%d\nspec:\n  schedule: '%d %d * * *'\n"+
			"  jobTemplate:\n    spec:\n      template:\n        spec:\n          containers:\n            - image: shop\n",
		i, minute, hour)
}
