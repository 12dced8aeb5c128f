package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// events answers as "herdscan events --format json" does, as far as combbench
// looks: one Unix time a line in, combs and spikes out.
func events(args []string, in io.Reader, out io.Writer) error {
	fs := flag.NewFlagSet("events", flag.ContinueOnError)
	fs.String("format", "json", "")
	from := fs.Float64("from", 0, "")
	to := fs.Float64("to", 0, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	s, res, err := readTimes(in)
	if err != nil {
		return err
	}
	r := comb.Detect(s, comb.Options{From: unix(*from), To: unix(*to), Resolution: res})
	return json.NewEncoder(out).Encode(map[string]any{"schema": "herdscan/1", "findings": findings(r)})
}

// readTimes counts Unix times, one a line, and tells their resolution.
func readTimes(in io.Reader) (*comb.Series, time.Duration, error) {
	bin, res := time.Second, time.Second
	var at []int64
	sc := bufio.NewScanner(in)
	for sc.Scan() {
		whole, frac, fine := strings.Cut(sc.Text(), ".")
		sec, err := strconv.ParseInt(whole, 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("no time: %w", err)
		}
		if fine {
			bin, res = comb.FineBin, time.Microsecond
			frac += "000000000"
		} else {
			frac = "000000000"
		}
		ns, err := strconv.ParseInt(frac[:9], 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("no time: %w", err)
		}
		at = append(at, sec*1e9+ns)
	}
	s := comb.NewSeries(bin)
	for _, t := range at {
		s.Add(t, 1)
	}
	return s, res, sc.Err()
}

func unix(s float64) time.Time {
	whole, frac := math.Modf(s)
	return time.Unix(int64(whole), int64(frac*1e9))
}

type tooth struct {
	At    time.Time     `json:"at"`
	Width time.Duration `json:"width_ns"`
	Count uint64        `json:"count"`
}

type finding struct {
	Rule     string         `json:"rule"`
	Severity string         `json:"severity"`
	Comb     map[string]any `json:"comb,omitempty"`
	Teeth    []tooth        `json:"teeth"`
}

func findings(r comb.Result) []finding {
	out := []finding{}
	for _, c := range r.Combs {
		f := finding{Rule: "HS501", Severity: "note", Comb: map[string]any{
			"period_ns": int64(c.Period), "teeth": len(c.Teeth), "lock": c.Lock.String(), "log10_p": c.LogP,
		}}
		if c.Harm {
			f.Severity = "warning"
		}
		if c.Lock != comb.Undetermined {
			f.Comb["locked"] = c.Lock == comb.WallClock
		}
		for _, t := range c.Teeth {
			f.Teeth = append(f.Teeth, tooth(t))
		}
		out = append(out, f)
	}
	for _, s := range r.Spikes {
		out = append(out, finding{Rule: "HS504", Severity: "warning", Teeth: []tooth{tooth(s.Tooth)}})
	}
	return out
}
