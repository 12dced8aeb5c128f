package scan_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/herdscan/herdscan/scan"
)

// A fieldStub answers like a server that knows fields with a TTL: keys "hash:N" have N fields, of which the last
// expires at fieldDeadline, those before later; "plain:N" are hashes of which none does; the rest are strings.
type fieldStub struct {
	mu      sync.Mutex
	sent    map[string]int
	touched bool              // a command that counts as an access was sent without NO-TOUCH
	refuse  map[string]string // replies by command
}

const fieldDeadline = 1_796_068_000_123

func (f *fieldStub) answer(untouchable *bool, args []string) string {
	command := strings.ToUpper(args[0])
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent[command]++
	if reply := f.refuse[command]; reply != "" {
		return reply
	}
	switch command {
	case "CLIENT":
		*untouchable = strings.EqualFold(strings.Join(args[1:], " "), "no-touch on")
		return "+OK\r\n"
	case "TYPE":
		if strings.HasPrefix(args[1], "hash:") || strings.HasPrefix(args[1], "plain:") {
			return "+hash\r\n"
		}
		return "+string\r\n"
	case "HRANDFIELD":
		f.touched = f.touched || !*untouchable
		var fields []string
		var n int
		_, _ = fmt.Sscanf(args[1][strings.Index(args[1], ":")+1:], "%d", &n)
		for i := range min(n, 16) {
			fields = append(fields, fmt.Sprint("f", i))
		}
		return array(fields)
	case "HPEXPIRETIME":
		f.touched = f.touched || !*untouchable
		var b strings.Builder
		fields := args[4:]
		fmt.Fprintf(&b, "*%d\r\n", len(fields))
		for i := range fields {
			switch {
			case strings.HasPrefix(args[1], "plain:"), i == 0 && len(fields) > 1:
				b.WriteString(":-1\r\n")
			default:
				fmt.Fprintf(&b, ":%d\r\n", int64(fieldDeadline)+int64(len(fields)-1-i)*1000)
			}
		}
		return b.String()
	}
	return ""
}

func (f *fieldStub) open(t *testing.T, keys []string, keyspace string) *scan.Redis {
	t.Helper()
	f.sent = make(map[string]int)
	s := &stub{info: "redis_version:7.4.1\r\n", size: len(keys), scan: byOffset(keys), keyspace: keyspace}
	s.expiry = func(key string) string {
		if strings.HasPrefix(key, "session:") {
			return fmt.Sprintf(":%d\r\n", int64(fieldDeadline))
		}
		return ":-1\r\n"
	}
	s.connected = func() func([]string) string {
		untouchable := false
		return func(args []string) string { return f.answer(&untouchable, args) }
	}
	s.start(t)
	return open(t, scan.Options{URL: "redis://" + s.addr})
}

func fieldKeys() []string {
	var keys []string
	for i := range 60 {
		keys = append(keys, fmt.Sprint("session:", i), fmt.Sprint("text:", i), fmt.Sprint("hash:", i+1), fmt.Sprint("plain:", i+1))
	}
	return keys
}

func TestHashFields(t *testing.T) {
	t.Parallel()
	for _, keyspace := range []string{",avg_ttl=0,subexpiry=60", ",avg_ttl=0,keys_with_volatile_items=60"} {
		var f fieldStub
		r := f.open(t, fieldKeys(), keyspace)
		found := 0
		err := r.Keys(t.Context(), func(k *scan.Key) error {
			switch volatile := strings.HasPrefix(string(k.Name), "hash:"); {
			case volatile && (k.FieldExpireMS != fieldDeadline || k.Type != "hash" || k.ExpireMS != scan.NoExpiry):
				t.Errorf("%s: %+v", k.Name, k)
			case !volatile && k.FieldExpireMS != 0:
				t.Errorf("%s has a field that expires", k.Name)
			case volatile:
				found++
			}
			return nil
		})
		if err != nil || found != 60 {
			t.Fatalf("%d hashes with a field that expires, %v", found, err)
		}
		if f.touched {
			t.Error("a hash was touched")
		}
		if hits := r.Impact().HitsAdded; hits != 240+180+2*120 {
			t.Errorf("%d hits were accounted for", hits)
		}
		if f.sent["TYPE"] != 180 || f.sent["HRANDFIELD"] != 120 {
			t.Errorf("sent %v", f.sent)
		}
		if notes := fmt.Sprint(r.Coverage()[0].Notes); !strings.Contains(notes, "90 large hashes were judged by 16") {
			t.Errorf("notes are %s", notes)
		}
	}
}

// TestHashFieldsNotAsked sends nothing to a server without such fields.
func TestHashFieldsNotAsked(t *testing.T) {
	t.Parallel()
	for _, keyspace := range []string{"", ",subexpiry=0", ",keys_with_volatile_items=0"} {
		var f fieldStub
		if _, err := read(t, f.open(t, fieldKeys(), keyspace)); err != nil || f.sent["TYPE"]+f.sent["CLIENT"]+f.sent["HRANDFIELD"]+f.sent["HPEXPIRETIME"] != 0 {
			t.Errorf("%q: sent %v, %v", keyspace, f.sent, err)
		}
	}
}

// TestHashFieldsRefused names what is missing, and reads all keys.
func TestHashFieldsRefused(t *testing.T) {
	t.Parallel()
	for command, c := range map[string]struct{ reply, want string }{
		"CLIENT":       {"-ERR unknown subcommand 'no-touch'. Try CLIENT HELP.\r\n", "CLIENT|NO-TOUCH"},
		"TYPE":         {"-NOPERM User least has no permissions to run the 'type' command\r\n", "+type"},
		"HRANDFIELD":   {"-NOPERM User least has no permissions to run the 'hrandfield' command\r\n", "+hrandfield"},
		"HPEXPIRETIME": {"-ERR unknown command 'hpexpiretime', with args beginning with: \r\n", "HPEXPIRETIME"},
	} {
		f := fieldStub{refuse: map[string]string{command: c.reply}}
		keys := fieldKeys()
		r := f.open(t, keys, ",subexpiry=60")
		got, err := read(t, r)
		if err != nil || len(got) != len(keys) {
			t.Errorf("%s: %d keys, %v", command, len(got), err)
		}
		cov := r.Coverage()[0]
		if notes := fmt.Sprint(cov.Notes); !cov.Complete || !strings.Contains(notes, c.want) || !strings.Contains(notes, "fields expire in 60 hashes") {
			t.Errorf("%s: coverage %+v", command, cov)
		}
		if f.touched {
			t.Errorf("%s: a hash was touched", command)
		}
	}
}

// TestHashFieldsBounded looks into so many hashes and says how many it left out.
func TestHashFieldsBounded(t *testing.T) {
	t.Parallel()
	keys := make([]string, 20_100)
	for i := range keys {
		keys[i] = fmt.Sprintf("plain:3:%d", i)
	}
	var f fieldStub
	r := f.open(t, keys, ",subexpiry=60")
	if got, err := read(t, r); err != nil || len(got) != len(keys) {
		t.Fatalf("%d keys, %v", len(got), err)
	}
	if n := f.sent["HRANDFIELD"]; n > 20_000 || n < 19_900 {
		t.Errorf("%d hashes were looked into", n)
	}
	notes := fmt.Sprint(r.Coverage()[0].Notes)
	if !strings.Contains(notes, "more were not and count as keys without a TTL") {
		t.Errorf("notes are %s", notes)
	}
}

// TestHashFieldsElsewhere tells when the server knows of more than the scan found.
func TestHashFieldsElsewhere(t *testing.T) {
	t.Parallel()
	var f fieldStub
	r := f.open(t, []string{"plain:2", "text:1"}, ",subexpiry=5")
	if _, err := read(t, r); err != nil {
		t.Fatal(err)
	}
	if notes := fmt.Sprint(r.Coverage()[0].Notes); !strings.Contains(notes, "fields expire in 5 hashes, by the server's count; 0 of them were found") {
		t.Errorf("notes are %s", notes)
	}
}

// TestKeyDBMembers names what KeyDB does not tell: which members of a key expire.
func TestKeyDBMembers(t *testing.T) {
	t.Parallel()
	s := &stub{info: "redis_version:6.3.4\r\nmvcc_depth:0\r\n", size: 3}
	s.scan = byOffset([]string{"session:1", "set:1", "set:2"})
	s.expiry = func(key string) string {
		if key == "session:1" {
			return fmt.Sprintf(":%d\r\n", int64(fieldDeadline))
		}
		return ":-1\r\n"
	}
	s.keyspace = ",cached_keys=3"
	s.expires = 3
	s.start(t)
	r := open(t, scan.Options{URL: "redis://" + s.addr})
	if _, err := read(t, r); err != nil {
		t.Fatal(err)
	}
	if notes := fmt.Sprint(r.Coverage()[0].Notes); !strings.Contains(notes, "KeyDB counts 3 keys with an expiry, 1 were read") {
		t.Errorf("notes are %s", notes)
	}
}
