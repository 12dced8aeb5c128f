package fix

import (
	"fmt"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// Prove reads the file before and after the change with the formats that know
// it, and returns an error if a schedule is lost, added, or fires on other
// days, in other hours or more or less often than before.
func Prove(c *Change, formats []lint.Format, o *lint.Options) error {
	before, err := entries(c.Path, c.Before, formats, o)
	if err != nil {
		return fmt.Errorf("%s before the fix: %w", c.Path, err)
	}
	after, err := entries(c.Path, c.After, formats, o)
	if err != nil {
		return fmt.Errorf("%s after the fix: %w", c.Path, err)
	}
	if len(before) != len(after) {
		return fmt.Errorf("%s: %d schedules before the fix, %d after", c.Path, len(before), len(after))
	}
	for i := range before {
		if why := differs(before[i], after[i]); why != "" {
			return fmt.Errorf("%s: %q became %q: %s", before[i].Location(), before[i].Raw, after[i].Raw, why)
		}
	}
	return nil
}

func entries(path string, data []byte, formats []lint.Format, o *lint.Options) (all []*lint.Entry, err error) {
	f := lint.NewFile(path, data)
	for _, format := range formats {
		if !format.Match(path, data) {
			continue
		}
		if opt, ok := format.(lint.Optional); ok && !o.Has(opt.OptIn()) {
			continue
		}
		parsed, err := format.Parse(f, o)
		if err != nil {
			return nil, err
		}
		all = append(all, parsed.Entries...)
	}
	return all, nil
}

// differs says what about a schedule is not as it was; "" if nothing that counts.
func differs(a, b *lint.Entry) string {
	switch {
	case a.Dialect != b.Dialect:
		return "another dialect"
	case (a.Schedule == nil) != (b.Schedule == nil):
		return "no longer understood"
	case a.Schedule == nil || a.Raw == b.Raw:
		return ""
	case a.Schedule.Interval != b.Schedule.Interval || a.Schedule.Reboot != b.Schedule.Reboot:
		return "another interval"
	case a.Schedule.Hours() != b.Schedule.Hours():
		return "other hours"
	case a.Schedule.PerDay() != b.Schedule.PerDay():
		return fmt.Sprintf("%d starts a day instead of %d", b.Schedule.PerDay(), a.Schedule.PerDay())
	case !a.Schedule.SameDays(b.Schedule):
		return "other days"
	}
	return ""
}
