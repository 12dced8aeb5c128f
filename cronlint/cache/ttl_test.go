package cache

import (
	"testing"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
)

func TestLiteralTTL(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"3600": time.Hour, "60 * 15": 15 * time.Minute, "3_600": time.Hour, "15.minutes": 15 * time.Minute, "1.hour": time.Hour,
		"now()->addMinutes(10)": 10 * time.Minute, "Duration.ofHours(2)": 2 * time.Hour, "5 * time.Minute": 5 * time.Minute,
		"time.Hour": time.Hour,
		// No literals, or out of range:
		"": 0, "ttl": 0, "60 * n": 0, "-1": 0, "rand(60)": 0, "99999999 * 99999999": 0, "1.minutes(2)": 0, "addMinutes()": 0,
	} {
		if got, ok := literalTTL(text); got != want || ok != (want > 0) {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
}

func TestBlankVCLKeepsPlaces(t *testing.T) {
	text := "a /* { */ b\n{\"x}\"} # {\nc \"}\" d"
	want := "a         b\n          \nc     d"
	if got := string(blankVCL([]byte(text))); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzVCL(f *testing.F) {
	f.Add("sub a { if (b) { set beresp.grace = 0s; } }")
	f.Add("/* { \" C{")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := vclFormat{}.Parse(lint.NewFile("a.vcl", []byte(text)), &lint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range out.Settings {
			if s.Span.Start < 0 || s.Span.End > len(text) || s.Span.Start >= s.Span.End {
				t.Fatalf("span %v of %d bytes", s.Span, len(text))
			}
		}
	})
}
