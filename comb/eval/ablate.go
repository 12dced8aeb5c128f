package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stage is a part of the detector that can be switched off by an edit of its source.
type stage struct {
	name, file, old, new string
}

// stages lists the edits. An edit whose old text is gone is an error, so the
// list can't fall behind the code.
var stages = []stage{
	{"sub-bin positions of bursts", "bursts.go", "if b.long {\n\t\t\tcontinue", "if b.size > 0 {\n\t\t\tcontinue"},
	{"coarser levels", "bursts.go", "if g.w*2 > min(widestBin, span/levelsPerOf) {", "if g.w > 0 || g.w*2 > min(widestBin, span/levelsPerOf) {"},
	{"lists with weak bursts", "bursts.go", "if len(lax) <= maxLax &&", "if len(lax) < 0 && len(lax) <= maxLax &&"},
	{"lists of the largest bursts", "bursts.go", "[]int{1500, 300, 60, 14}", "[]int{}"},
	{"shortest striking lags", "candidates.go", "return append(out, shortest(found, out, top/2)...)", "return out"},
	{"missing teeth (gaps of 2 to 8)", "chain.go", "g <= maxGap; g++ {\n\t\tt := &f.terms[g]\n\t\tplace", "g <= 1; g++ {\n\t\tt := &f.terms[g]\n\t\tplace"},
	{"restarts of the phase", "chain.go", "if done > 0 {", "if done < 0 {"},
	{"refined period, second pass", "chain.go", "range 2 {", "range 1 {"},
	{"sparse residue class", "detect.go", "c.sparseClass(); ok &&", "c.sparseClass(); ok && i < 0 &&"},
	{"denser comb preferred", "detect.go", "return d.denser(t, cs[i+1:])", "return d.denser(t, cs[i+1:][:0])"},
	{"divisors of the period", "verify.go", "if divisions > 0 {", "if divisions < 0 {"},
	{"width limit", "fold.go", "width > maxDuty*period || width > maxWidth*w", "width > period"},
	{"two sides", "fold.go", "if core-max(left, right) <", "if core < base && core-max(left, right) <"},
	{"share of the period that is high", "fold.go", "p.share(base+height/2, b-a+1) > maxDuty || p.share(base+height/4, b-a+1) > 2*maxDuty", "p.share(base+height/2, b-a+1) > 1"},
	{"edges", "verify.go", "return 2*edges <= t.seen", "return edges >= 0"},
	{"tall residue class", "verify.go", "if split && float64(", "if split && divisions < 0 && float64("},
	{"steadiest mark", "verify.go", "if m > 0 && l.sigma >= t.fit.sigma {", "if m > 0 {"},
	{"remainders of accepted combs", "verify.go", "|| !d.outsideOthers(t)", ""},
	{"teeth missed by the chain", "verify.go", "\td.extend(t)\n", ""},
	{"taller teeth keep the rest", "verify.go", "keep = (h - t.height) / h", "keep = 0"},
	{"pieces joined", "detect.go", "ts := mergeTrains(d.trains)", "ts := d.trains"},
	{"one-offs: Pareto tail", "spikes.go", "p = paretoTail(rest, z)", "p += 0 * paretoTail(rest, z)"},
	{"one-offs: overdispersion", "spikes.go", "height := b.llr / phi", "height := b.llr + 0*phi"},
	{"one-offs: aftershocks", "spikes.go", "if start < until && b.size < last {", "if start < until && b.size < 0*last {"},
	{"one-offs: two sides", "spikes.go", "|| !lv.twoSided(b)", ""},
	{"one-offs: near the lines of combs", "spikes.go", "if s.size >= 3*t.height {", "if s.size >= 0 {"},
}

// ablated are the families of the ablation: those where a stage can matter, and cheap ones.
var ablated = []string{
	"ttl_hotkey", "ttl_group_deploy", "ttl_group_warm", "fading_jitter", "fading_15pct", "cron_min_1s", "cron_5min_diurnal", "cron_hourly",
	"nightly", "superposed_nested", "superposed_mixed", "missing_teeth", "dst_daily", "comb_in_hawkes", "comb_on_ramp", "fast_comb",
	"retry_storm", "replica_dup_job", "wide_cron", "few_teeth", "weak_dense_cron", "spike_hotkey", "spike_deploy", "spike_multi", "hawkes", "pareto_sessions",
	"batches_n+1", "negbin", "truncated", "sinusoid", "square_triangle", "step_change", "poll_fleet", "ttl_healthy_steady",
}

// ablation scores the detector without each stage.
func ablation(ctx context.Context, s settings) (string, error) {
	combbench, err := buildBench(ctx, s)
	if err != nil {
		return "", err
	}
	programs := make([]string, len(stages)) // all first: an edit that doesn't fit fails at once
	for i, st := range stages {
		if programs[i], err = st.build(ctx, s.dir, i); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d series of each level of %d families, seeds from %d.\n\n", s.ablate, len(ablated), s.seed)
	b.WriteString("| without | combs found | of them warned | lock right | lock wrong | spikes found | false combs | false spikes |\n|---|---|---|---|---|---|---|---|\n")
	line := func(name, detector string) error {
		rows, err := bench(ctx, combbench, detector, s.ablate, s.seed, ablated)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.family == "TOTAL" && r.class == "all" {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s | %s | %s |\n", name, r.recall, r.alarm, r.lock, r.wrong, r.spikes, r.falseCombs, r.falseSpikes)
			}
		}
		return nil
	}
	if err := line("nothing", s.self); err != nil {
		return "", err
	}
	for i, st := range stages {
		fmt.Fprintln(os.Stderr, "eval: without", st.name)
		if err := line(st.name, programs[i]); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// build compiles this program with the stage switched off.
func (st stage) build(ctx context.Context, dir string, i int) (string, error) {
	file := filepath.Join("comb", st.file)
	src, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if strings.Count(string(src), st.old) != 1 {
		return "", fmt.Errorf("%s: %q is there %d times, want once", file, st.old, strings.Count(string(src), st.old))
	}
	edited := filepath.Join(dir, fmt.Sprintf("%d.go", i))
	if err := os.WriteFile(edited, []byte(strings.Replace(string(src), st.old, st.new, 1)), 0o644); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {abs: edited}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, fmt.Sprintf("%d.json", i))
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		return "", err
	}
	program := filepath.Join(dir, fmt.Sprintf("without-%d", i))
	if out, err := exec.CommandContext(ctx, "go", "build", "-overlay", list, "-o", program, "./comb/eval").CombinedOutput(); err != nil {
		return "", fmt.Errorf("without %s: %w: %s", st.name, err, out)
	}
	return program, nil
}
