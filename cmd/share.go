package cmd

import (
	"fmt"
	"strconv"
	"strings"
)

// A share is a flag for a part of something: "1%", "0.01".
type share float64

func (s *share) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s)*100, 'g', -1, 64) + "%"
}

// Set parses a percentage or a fraction above 0 and up to 1.
func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0 && x <= 1) {
		return fmt.Errorf("give a share such as 1%% or 0.01")
	}
	*s = share(x)
	return nil
}

// Type names the kind of value in help texts.
func (s *share) Type() string { return "share" }
