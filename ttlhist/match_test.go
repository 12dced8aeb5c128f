package ttlhist

import "testing"

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         Match
	}{
		{"session:*", "session:17", Exact},
		{"session:*", "session:9f86d081884c7d659a2feaa0c55ad015", Exact},
		{"session:*", "session:\xff\x00\r\n1", Exact},
		{"session:*", "session:a:17", NoMatch},
		{"session:*", "sessions:17", NoMatch},
		{"session:*", "session:17:cart", NoMatch},
		{"session:*", "session:latest", Joined},
		{"user:*:cart", "user:alice:cart", Joined},
		{"user:*:cart", "user:17:cart", Exact},
		{"user:*:cart", "user:alice:order", NoMatch},
		{"user**", "user:alice:cart", Joined},
		{"user**", "7:user:cart", Joined},
		{"user**", "users:alice", NoMatch},
		{"plain", "plain", Exact},
		{"", "", Exact},
	} {
		if got := NewMatcher(c.pattern).Match([]byte(c.key)); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.pattern, c.key, got, c.want)
		}
	}
}

// Every key matches its own pattern, whatever its bytes.
func FuzzMatcher(f *testing.F) {
	f.Add([]byte("user:17:cart"))
	f.Add([]byte("a*b:\x00:ÿ"))
	f.Fuzz(func(t *testing.T, name []byte) {
		if got := NewMatcher(PatternOf(name)).Match(name); got != Exact {
			t.Errorf("%q, %q: %d", name, PatternOf(name), got)
		}
	})
}
