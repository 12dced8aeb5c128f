package live

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadDefaults(t *testing.T) {
	tests := []struct {
		name, text                  string
		user, password, network, at string
	}{
		{"tcp", "[client]\nuser=app\npassword=\"a#b;c\"\nhost=db1\nport=3307\n", "app", "a#b;c", "tcp", "db1:3307"},
		{"socket", "[client]\nuser = app\npassword = x # the old one\nsocket = /tmp/m.sock\n", "app", "x", "unix", "/tmp/m.sock"},
		{"later section wins", "[client]\nuser=a\nhost=h\n[herdscan]\nuser=b\n", "b", "", "tcp", "h:3306"},
		{"other sections do not count", "[mysqld]\nuser=mysql\n[client]\nuser=a\nskip-ssl\n", "a", "", "unix", "/run/mysqld/mysqld.sock"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "my.cnf")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := Config{DefaultsFile: path}.driver()
			if err != nil {
				t.Fatal(err)
			}
			if c.User != tt.user || c.Passwd != tt.password || c.Net != tt.network || c.Addr != tt.at {
				t.Errorf("got %s:%s@%s(%s)", c.User, c.Passwd, c.Net, c.Addr)
			}
			if c.ReadTimeout == 0 || c.Timeout == 0 {
				t.Error("no deadline set")
			}
		})
	}
}
