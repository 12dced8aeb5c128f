// Command eval scores the herd detector and writes the tables of
// docs/detector.md: labelled synthetic series (combbench, which is a tool of
// its own and not part of this module), an ablation of every stage, the
// calibration of the false-alarm bound on traffic without herds, and the cost.
//
//	go run ./comb/eval -n 20 -seed 5001
//
// With "events" as first argument it answers as "herdscan events" does, so
// that combbench can drive it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

type settings struct {
	n, ablate, null int
	seed            uint64
	tools, doc      string
	self            string // this program
	dir             string // for programs and overlays
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "events" {
		if err := events(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var s settings
	flag.IntVar(&s.n, "n", 20, "series of each family and level")
	flag.Uint64Var(&s.seed, "seed", 5001, "first seed")
	flag.IntVar(&s.ablate, "ablate", 5, "series of each family and level for the ablation")
	flag.IntVar(&s.null, "null", 10_000, "series without a herd for the calibration")
	flag.StringVar(&s.tools, "tools", "../shared/tools", "where combbench lives")
	flag.StringVar(&s.doc, "doc", "docs/detector.md", "document whose tables are written")
	only := flag.String("only", "scores,ablation,calibration,cost", "tables to write, by comma")
	flag.Parse()

	dir, err := os.MkdirTemp("", "eval")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s.dir = dir
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	tables := map[string]func(context.Context, settings) (string, error){
		"scores": scores, "ablation": ablation, "calibration": calibration, "cost": cost,
	}
	for _, name := range strings.Split(*only, ",") {
		table, ok := tables[name]
		if !ok {
			return fmt.Errorf("no table %q", name)
		}
		fmt.Fprintln(os.Stderr, "eval:", name)
		text, err := table(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := writeSection(s.doc, name, text); err != nil {
			return err
		}
	}
	return nil
}

// writeSection replaces what stands between <!-- eval:NAME --> and <!-- /eval:NAME --> in a document.
func writeSection(doc, name, text string) error {
	b, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	open, end := "<!-- eval:"+name+" -->\n", "<!-- /eval:"+name+" -->"
	head, rest, ok := strings.Cut(string(b), open)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no section %s", doc, name)
	}
	tmp := filepath.Join(filepath.Dir(doc), ".eval.tmp")
	if err := os.WriteFile(tmp, []byte(head+open+text+end+tail), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, doc)
}
