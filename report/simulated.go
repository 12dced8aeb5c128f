package report

import (
	"cmp"
	"slices"

	"github.com/herdscan/herdscan/comb"
)

// Simulation is what "herdscan simulate" played: one cache, under each policy.
type Simulation struct {
	Keys           int               `json:"keys"`
	ReadsPerSecond float64           `json:"reads_per_second"`
	Zipf           float64           `json:"zipf"`
	TTLNS          int64             `json:"ttl_ns"`
	RebuildNS      int64             `json:"rebuild_ns"`
	RebuildCV      float64           `json:"rebuild_cv"`
	Processes      int               `json:"processes"`
	GraceNS        int64             `json:"grace_ns"`
	DBConcurrency  int               `json:"db_concurrency"` // 0: any
	HitNS          int64             `json:"hit_ns"`
	LengthNS       int64             `json:"length_ns"`
	Seed           uint64            `json:"seed"`
	Events         []SimulatedEvent  `json:"events"`
	Policies       []SimulatedPolicy `json:"policies"`
}

// SimulatedEvent is a deploy, a flush or a fill. GapNS is the time from one
// process to the next of a deploy, WidthNS how long the job of a fill runs.
type SimulatedEvent struct {
	Kind    string `json:"kind"`
	AtNS    int64  `json:"at_ns"`
	GapNS   int64  `json:"gap_ns,omitempty"`
	WidthNS int64  `json:"width_ns,omitempty"`
}

// SimulatedPolicy is the outcome under one policy. Event is the peak at deploys
// and flushes, none without them; Later that of the rest.
type SimulatedPolicy struct {
	Name     string         `json:"name"`
	Jitter   float64        `json:"jitter"` // x of TTL x (1 ± x)
	LengthNS int64          `json:"length_ns"`
	Queries  int            `json:"queries"`
	Reads    int            `json:"reads"`
	Misses   int            `json:"misses"`
	Waits    int            `json:"waits"`
	Stale    int            `json:"stale"`
	Early    int            `json:"early"`
	Event    *SimulatedPeak `json:"event_peak,omitempty"`
	Later    *SimulatedPeak `json:"later_peak,omitempty"`
	P50NS    int64          `json:"p50_ns"`
	P99NS    int64          `json:"p99_ns"`
}

// SimulatedPeak is the worst of a part of the run: the queries of its busiest
// second, simulated and by formula (null where there is none), and the p99 of
// its worst minute.
type SimulatedPeak struct {
	Simulated int      `json:"simulated"`
	Predicted *float64 `json:"predicted"`
	P99NS     int64    `json:"worst_minute_p99_ns"`
}

func (r *Simulate) contract() *Simulation {
	m := r.Base
	s := &Simulation{
		Keys: m.Keys, ReadsPerSecond: m.Reads, Zipf: m.Zipf, TTLNS: int64(m.TTL), RebuildNS: int64(m.Rebuild), RebuildCV: m.RebuildCV,
		Processes: m.Processes, GraceNS: int64(m.Grace), DBConcurrency: m.Concurrency, HitNS: int64(m.Hit),
		LengthNS: int64(m.Length), Seed: m.Seed, Events: simulatedEvents(m), Policies: []SimulatedPolicy{},
	}
	for _, p := range r.runs {
		s.Policies = append(s.Policies, p.SimulatedPolicy)
	}
	return s
}

func simulatedEvents(m comb.Mechanism) []SimulatedEvent {
	all := []SimulatedEvent{}
	for _, d := range m.Deploys {
		all = append(all, SimulatedEvent{Kind: "deploy", AtNS: int64(d.At), GapNS: int64(d.Gap)})
	}
	for _, f := range m.Flushes {
		all = append(all, SimulatedEvent{Kind: "flush", AtNS: int64(f)})
	}
	for _, f := range m.Fills {
		all = append(all, SimulatedEvent{Kind: "fill", AtNS: int64(f.At), WidthNS: int64(f.Width)})
	}
	slices.SortStableFunc(all, func(a, b SimulatedEvent) int { return cmp.Compare(a.AtNS, b.AtNS) })
	return all
}
