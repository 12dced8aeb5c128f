// Package scantest holds the tests that every scan.Source has to pass.
package scantest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
)

// Option loosens or sharpens TestSource for one source.
type Option func(*suite)

// Reopen tells how to get a fresh source for each sub-test: for sources that can be read only once.
func Reopen(open func(t *testing.T) scan.Source) Option {
	return func(s *suite) { s.open = open }
}

// Tolerance allows expiries to differ by so much, for sources whose clock is coarser than a millisecond.
func Tolerance(d time.Duration) Option {
	return func(s *suite) { s.tolerance = d.Milliseconds() }
}

// Secret names text that String must not contain.
func Secret(text string) Option {
	return func(s *suite) { s.secrets = append(s.secrets, text) }
}

// maxAfterCancel is how many keys a source may still yield after its context was cancelled.
const maxAfterCancel = 5000

type suite struct {
	open      func(t *testing.T) scan.Source
	want      []scan.Key
	tolerance int64
	secrets   []string
}

// TestSource checks that src yields exactly want (in any order; Type, Idle, Freq and FieldExpireMS are compared only
// where want gives them), returns the error of yield, stops when the context ends, has a plausible Size and a String
// without secrets.
func TestSource(t *testing.T, src scan.Source, want []scan.Key, options ...Option) {
	t.Helper()
	s := &suite{open: func(*testing.T) scan.Source { return src }, want: want}
	for _, option := range options {
		option(s)
	}
	t.Run("keys", s.testKeys)
	t.Run("yield error", s.testYieldError)
	t.Run("cancelled before", s.testCancelledBefore)
	t.Run("cancelled during", s.testCancelledDuring)
	t.Run("size", s.testSize)
	t.Run("string", s.testString)
}

func (s *suite) testKeys(t *testing.T) {
	src := s.open(t)
	var got []scan.Key
	err := src.Keys(t.Context(), func(k *scan.Key) error {
		got = append(got, k.Clone())
		scribble(k)
		return nil
	})
	if err != nil {
		t.Fatalf("Keys: %v", err)
	}
	s.compare(t, got)
}

// scribble overwrites what was yielded: a source must not rely on it afterwards.
func scribble(k *scan.Key) {
	for i := range k.Name {
		k.Name[i] = '#'
	}
	*k = scan.Key{DB: -7, ExpireMS: -7}
}

func (s *suite) compare(t *testing.T, got []scan.Key) {
	t.Helper()
	want := slices.Clone(s.want)
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	if len(got) != len(want) {
		t.Errorf("%d keys, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i].DB != want[i].DB || string(got[i].Name) != string(want[i].Name) {
			t.Fatalf("key %d is db %d %q, want db %d %q", i, got[i].DB, got[i].Name, want[i].DB, want[i].Name)
		}
		s.compareKey(t, &got[i], &want[i])
	}
}

func byName(a, b scan.Key) int {
	return cmp.Or(cmp.Compare(a.DB, b.DB), strings.Compare(string(a.Name), string(b.Name)))
}

func (s *suite) compareKey(t *testing.T, got, want *scan.Key) {
	t.Helper()
	noExpiry := got.ExpireMS == scan.NoExpiry || want.ExpireMS == scan.NoExpiry
	if d := got.ExpireMS - want.ExpireMS; noExpiry && d != 0 || d > s.tolerance || -d > s.tolerance {
		t.Errorf("%q: expires at %d, want %d (tolerance %d ms)", got.Name, got.ExpireMS, want.ExpireMS, s.tolerance)
	}
	if got.TTL != want.TTL {
		t.Errorf("%q: original TTL %v, want %v", got.Name, got.TTL, want.TTL)
	}
	if want.Type != "" && got.Type != want.Type {
		t.Errorf("%q: type %q, want %q", got.Name, got.Type, want.Type)
	}
	if want.HasIdle && (!got.HasIdle || got.Idle != want.Idle) {
		t.Errorf("%q: idle %v (known: %v), want %v", got.Name, got.Idle, got.HasIdle, want.Idle)
	}
	if want.HasFreq && (!got.HasFreq || got.Freq != want.Freq) {
		t.Errorf("%q: frequency %d (known: %v), want %d", got.Name, got.Freq, got.HasFreq, want.Freq)
	}
	if want.FieldExpireMS != 0 && got.FieldExpireMS != want.FieldExpireMS {
		t.Errorf("%q: field expiry %d, want %d", got.Name, got.FieldExpireMS, want.FieldExpireMS)
	}
}

func (s *suite) testYieldError(t *testing.T) {
	if len(s.want) == 0 {
		t.Skip("the source is empty")
	}
	stop := errors.New("enough")
	calls := 0
	err := s.open(t).Keys(t.Context(), func(*scan.Key) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("Keys returned %v, want the error of yield", err)
	}
	if calls != 1 {
		t.Errorf("yield was called %d times after it had failed", calls-1)
	}
}

func (s *suite) testCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.open(t).Keys(ctx, func(*scan.Key) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Keys with a cancelled context returned %v, want context.Canceled", err)
	}
}

func (s *suite) testCancelledDuring(t *testing.T) {
	if len(s.want) == 0 {
		t.Skip("the source is empty")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := 0
	err := s.open(t).Keys(ctx, func(*scan.Key) error {
		read++
		cancel()
		return nil
	})
	switch {
	case err == nil && read < len(s.want):
		t.Errorf("Keys returned nil after %d of %d keys", read, len(s.want))
	case err != nil && !errors.Is(err, context.Canceled):
		t.Errorf("Keys returned %v, want context.Canceled", err)
	case read > maxAfterCancel:
		t.Errorf("%d keys after the context was cancelled", read-1)
	}
}

func (s *suite) testSize(t *testing.T) {
	size, err := s.open(t).Size(t.Context())
	if err != nil {
		t.Fatalf("Size: %v", err)
	}
	if n := uint64(len(s.want)); size != 0 && (size < n/2 || size > 2*n+10) {
		t.Errorf("Size is %d for %d keys", size, n)
	}
}

func (s *suite) testString(t *testing.T) {
	text := s.open(t).String()
	if text == "" {
		t.Error("String is empty")
	}
	for _, secret := range s.secrets {
		if strings.Contains(text, secret) {
			t.Errorf("String %q holds a secret", text)
		}
	}
}
