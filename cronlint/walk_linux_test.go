package cronlint

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// TestUnreadableFolder gives up root's right to read everything for the time
// of the test.
func TestUnreadableFolder(t *testing.T) {
	tree(t, map[string]string{"closed/a.conf": cached, "open/b.conf": cached})
	if err := os.Chmod("closed", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod("closed", 0o755) })
	if os.Getuid() == 0 {
		for _, dir := range []string{".", "..", "../.."} {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Skipf("can't give up root's rights: %v", err)
		}
		defer func() { _ = syscall.Setfsuid(0) }()
	}
	got, res := sources(t, Options{}, ".")
	if !slices.Equal(got, []string{"open/b.conf"}) {
		t.Errorf("recognised %q", got)
	}
	if len(res.Errors) != 1 || res.Errors[0].Error() != "closed: permission denied" {
		t.Errorf("errors %v", res.Errors)
	}
}
