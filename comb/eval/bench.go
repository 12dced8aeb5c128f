package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// row is one line of combbench: a family and level, or a total of a class.
type row struct {
	family, level, class            string
	n, events                       int
	recall, alarm, periodErr, lock  string
	wrong                           int
	spikes, falseCombs, falseSpikes string
}

// buildBench builds combbench from its own module.
func buildBench(ctx context.Context, s settings) (string, error) {
	out := filepath.Join(s.dir, "combbench")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", s.tools, "-o", out, "./combbench")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building combbench in %s: %w: %s", s.tools, err, b)
	}
	return out, nil
}

// bench runs combbench on a detector and returns its rows.
func bench(ctx context.Context, combbench, detector string, n int, seed uint64, families []string) ([]row, error) {
	args := []string{"-herdscan", detector, "-n", strconv.Itoa(n), "-seed", strconv.FormatUint(seed, 10), "-v"}
	if families != nil {
		args = append(args, "-family", strings.Join(families, ","))
	}
	cmd := exec.CommandContext(ctx, combbench, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("combbench: %w: %s", err, out.Bytes())
	}
	var rows []row
	for _, l := range strings.Split(out.String(), "\n") {
		if strings.HasPrefix(l, "   ") { // one miss or false alarm
			fmt.Fprintln(os.Stderr, l)
		} else if r, ok := parseRow(l); ok {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// parseRow reads a line of combbench's table, whose columns have fixed widths up to the class.
func parseRow(l string) (row, bool) {
	if len(l) < 40 || strings.HasPrefix(l, "family") {
		return row{}, false
	}
	i := -1
	f := strings.Fields(l)
	for _, class := range []string{"comb", "spike", "none", "harmless", "all"} {
		if k := slices.Index(f, class); k > 0 {
			i = k
		}
	}
	if i < 0 || len(f) != i+14 {
		return row{}, false
	}
	r := row{family: f[0], level: strings.Join(f[1:i], " "), class: f[i]}
	v := f[i+1:]
	var err error
	number := func(s string) int {
		k, e := strconv.Atoi(s)
		if e != nil {
			err = e
		}
		return k
	}
	r.n, r.events, r.wrong = number(v[0]), number(v[1]), number(v[6])
	r.recall, r.alarm, r.periodErr, r.lock = v[2], v[3], v[4], v[5]
	r.spikes, r.falseCombs, r.falseSpikes = v[7], v[8], v[9]
	return r, err == nil
}

// scores is the table of the classes, and of every family and level.
func scores(ctx context.Context, s settings) (string, error) {
	combbench, err := buildBench(ctx, s)
	if err != nil {
		return "", err
	}
	rows, err := bench(ctx, combbench, s.self, s.n, s.seed, nil)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Seeds %d to %d, %d series of each family and level (long ones: a quarter).\n\n", s.seed, s.seed+uint64(s.n)-1, s.n)
	b.WriteString("| class | series | combs found | of them warned | period error, median | lock right | lock wrong | spikes found | series with a false comb | series with a false spike |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.family == "TOTAL" {
			fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %d | %s | %s | %s |\n", r.class, r.n, r.recall, r.alarm, r.periodErr, r.lock, r.wrong, r.spikes, r.falseCombs, r.falseSpikes)
		}
	}
	b.WriteString("\n<details><summary>Every family and level</summary>\n\n| family | level | class | series | events, mean | combs found | period error | lock right | wrong | spikes found | false comb | false spike |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.family != "TOTAL" {
			fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s | %s | %s | %d | %s | %s | %s |\n", r.family, r.level, r.class, r.n, r.events, r.recall, r.periodErr, r.lock, r.wrong, r.spikes, r.falseCombs, r.falseSpikes)
		}
	}
	b.WriteString("\n</details>\n")
	return b.String(), nil
}
