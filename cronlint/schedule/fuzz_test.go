package schedule

import (
	"errors"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"0 0 * * *", "*/5 1-5 1,15 jan mon-fri", "@daily", "@every 1h", "H H(0-7) * * *", "0~59 * * * *",
		"0 0 0 L-3 * ? 2026", "0 0 ? * 5#3 *", "Mon..Fri *-*~3 8..18/2:0/15:30 Europe/Berlin", "cron(0 1 * * ? *)",
		"rate(5 minutes)", "every 2nd mon of jan 09:00", "CRON_TZ=Asia/Tokyo 0 0 * * *", "*-*-*/9999999 1:1",
		"0 0 0 1 1 0\xe6l", "0 0 0 \xe6w 1 0",
	} {
		for d := range dialectCount {
			f.Add(uint8(d), text)
		}
	}
	from := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, d uint8, text string) {
		s, err := Parse(Dialect(d), text)
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) || pe.Start < 0 || pe.Start > pe.End || pe.End > len(text) || pe.Msg == "" {
				t.Fatalf("error %#v for %q", err, text)
			}
			return
		}
		if next := s.Next(from); !next.IsZero() && !next.After(from) {
			t.Fatalf("%q: next fire %v is not after %v", text, next, from)
		}
		for _, field := range s.Fields {
			if s.Nickname == "" && (field.Start < 0 || field.End > len(text) || field.Start >= field.End) {
				t.Fatalf("%q: field %v has range [%d, %d)", text, field.Unit, field.Start, field.End)
			}
		}
	})
}

func BenchmarkYear(b *testing.B) {
	zone := load(b, "Europe/Berlin")
	s, err := Parse(Vixie, "*/5 3-5 * * 1-5")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.Year(2026, zone)
	}
}

func BenchmarkIntersect(b *testing.B) {
	zone := load(b, "Europe/Berlin")
	one, _ := Parse(Vixie, "*/5 3-5 * * 1-5")
	two, _ := Parse(Robfig, "0 * 1,15 * *")
	x, y := one.Year(2026, zone), two.Year(2026, time.UTC)
	for b.Loop() {
		x.Intersect(&y)
	}
}
