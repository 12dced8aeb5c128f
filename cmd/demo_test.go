package cmd

import "testing"

// The demonstration needs nothing but the program, and shows a herd of each kind.
func TestDemo(t *testing.T) {
	runner{}.run("demo").want(t, exitClean,
		"[HS401]", "[HS501]", "[HS110]", "session:* expires as a herd",
		"consistent with product:*: keys with a TTL of 60m that die together", "Cleared: ", "it fires every")
}
