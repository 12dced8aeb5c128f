package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user without rights.
const nobody = 65534

// TestLintUnreadableFolder runs the program as a user who may not read one of
// the folders. Root may read everything, so as root the test's own program is
// started again as nobody.
func TestLintUnreadableFolder(t *testing.T) {
	dir := os.Getenv("HERDSCAN_TEST_UNREADABLE")
	if dir == "" {
		dir = t.TempDir()
		write(t, filepath.Join(dir, "etc/crontab"), threeAtOnce)
		write(t, filepath.Join(dir, "shut/crontab"), threeAtOnce)
		openTo(t, dir)
		if err := os.Chmod(filepath.Join(dir, "shut"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "shut"), 0o700) })
	}
	if os.Geteuid() == 0 {
		againAsNobody(t, dir)
		return
	}
	t.Chdir(dir)
	runner{}.run("lint", ".").want(t, 2, "shut   could not be read", "permission denied", "[HS110]")
}

// openTo lets everybody read what a test wrote, and the folders above it.
func openTo(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"etc", "etc/crontab", "."} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for up := filepath.Dir(dir); up != os.TempDir() && up != filepath.Dir(up); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func againAsNobody(t *testing.T, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test-program") // where it is now, nobody may not come
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program, "-test.run", "^TestLintUnreadableFolder$", "-test.v")
	child.Dir = dir
	own := filepath.Join(dir, "tmp")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(own, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	child.Env = append(os.Environ(), "HERDSCAN_TEST_UNREADABLE="+dir, "TMPDIR="+own)
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestLintUnreadableFolder") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
