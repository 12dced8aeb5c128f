package querylog

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// twoRecords is a slow log of two records, the second over several lines.
var twoRecords = []string{
	"# Time: 2026-03-24T14:00:01.000000Z\n# User@Host: app[app] @ web-1 [10.0.0.1]  Id:    14\n# Query_time: 0.5  Lock_time: 0 Rows_sent: 3  Rows_examined: 9\nSET timestamp=1774360801;\nSELECT \"a\\tb\" FROM t;",
	"# Time: 2026-03-24T14:00:03.000000Z\n# User@Host: app[app] @ web-2 [10.0.0.2]  Id:    15\n# Query_time: 1.0  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1774360803;\nSELECT b\n  FROM t\n WHERE c = 1;",
}

var twoWanted = []want{
	{time: "2026-03-24T14:00:00.5Z", query: "SELECT \"a\\tb\" FROM t", user: "app", host: "web-1", duration: 500 * time.Millisecond, thread: 14, sent: 3},
	{time: "2026-03-24T14:00:02Z", query: "SELECT b\n  FROM t\n WHERE c = 1", user: "app", host: "web-2", duration: time.Second, thread: 15},
}

// prefixed puts something before each line of the two records.
func prefixed(with func(i int) string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.Join(twoRecords, "\n"), "\n") {
		b.WriteString(with(i) + line + "\n")
	}
	return b.String()
}

func always(s string) func(int) string { return func(int) string { return s } }

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type object map[string]any

// packedEvents is what a subscription of CloudWatch sends: base64 of gzip of its events.
func packedEvents() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_ = json.NewEncoder(z).Encode(object{"messageType": "DATA_MESSAGE", "logEvents": events()})
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func events() []object {
	return []object{{"timestamp": 1774360801000, "message": twoRecords[0]}, {"timestamp": 1774360803000, "message": twoRecords[1]}}
}

func reversed(in []object) []object { return []object{in[1], in[0]} }

func TestWrappedSlowLogs(t *testing.T) {
	lines := func(name string) (out string) {
		for line := range strings.Lines(strings.Join(twoRecords, "\n") + "\n") {
			out += mustJSON(object{name: line, "stream": "stderr"}) + "\n"
		}
		return out
	}
	pieces := func(name string, trim bool) (list []object) {
		for i, line := range strings.Split(strings.Join(twoRecords, "\n"), "\n") {
			if !trim {
				line += "\n"
			}
			list = append(list, object{name: line, "timestamp": fmt.Sprintf("2026-03-24T14:00:%02dZ", i)})
		}
		return list
	}
	tests := map[string]string{
		"docker compose":                      prefixed(always("db-1  | ")),
		"docker and kubectl --timestamps":     prefixed(func(i int) string { return fmt.Sprintf("2026-03-24T14:00:01.%09dZ ", i) }),
		"kubectl --prefix":                    prefixed(always("[pod/mysql-0/mysql] ")),
		"kubectl --prefix --timestamps":       prefixed(always("[pod/mysql-0/mysql] 2026-03-24T14:00:01.1Z ")),
		"container runtime":                   prefixed(always("2026-03-24T14:00:01.1Z stderr F ")),
		"journalctl":                          prefixed(always("Mar 24 14:00:01 db-1 mysqld[815]: ")),
		"journalctl short-precise":            prefixed(always("Mar 24 14:00:01.123456 db-1 mysqld[815]: ")),
		"journalctl short-iso":                prefixed(always("2026-03-24T14:00:01+0000 db-1 mysqld[815]: ")),
		"journalctl -o json":                  lines("MESSAGE"),
		"docker json-file":                    lines("log"),
		"aws logs tail":                       "2026-03-24T14:00:01.100000+00:00 db-1 " + twoRecords[0] + "\n2026-03-24T14:00:03.100000+00:00 db-1 " + twoRecords[1] + "\n",
		"aws logs tail --format short":        "2026-03-24T14:00:01 " + twoRecords[0] + "\n2026-03-24T14:00:03 " + twoRecords[1] + "\n",
		"CloudWatch export to S3":             "2026-03-24T14:00:01.000Z " + twoRecords[0] + "\n2026-03-24T14:00:03.000Z " + twoRecords[1] + "\n",
		"aws filter-log-events":               mustJSON(object{"events": events(), "searchedLogStreams": []string{}}),
		"aws get-log-events newest first":     mustJSON(object{"events": reversed(events()), "nextForwardToken": "f/1"}),
		"aws filter-log-events as text":       fmt.Sprintf("EVENTS\t%s\t1774360802000\tdb-1\t%s\t1774360801000\nEVENTS\t%s\t1774360804000\tdb-1\t%s\t1774360803000\nSEARCHEDLOGSTREAMS\tdb-1\tTrue\n", strings.Repeat("3", 56), twoRecords[0], strings.Repeat("4", 56), twoRecords[1]),
		"aws get-log-events as text":          fmt.Sprintf("b/36\tf/37\nEVENTS\t1774360802000\t%s\t1774360801000\nEVENTS\t1774360804000\t%s\t1774360803000\n", twoRecords[0], twoRecords[1]),
		"aws --query 'events[*].message'":     strings.Join(twoRecords, "\t") + "\n",
		"aws download-db-log-file-portion":    mustJSON(object{"LogFileData": strings.Join(twoRecords, "\n") + "\n", "Marker": "1:2", "AdditionalDataPending": false}),
		"CloudWatch Logs Insights":            mustJSON(object{"status": "Complete", "results": [][]object{{{"field": "@timestamp", "value": "2026-03-24 14:00:03.000"}, {"field": "@message", "value": twoRecords[1]}}, {{"field": "@timestamp", "value": "2026-03-24 14:00:01.000"}, {"field": "@message", "value": twoRecords[0]}}}}),
		"CloudWatch Logs Insights, CSV":       "@timestamp,@message\n2026-03-24 14:00:03.000,\"" + strings.ReplaceAll(twoRecords[1], `"`, `""`) + "\"\n2026-03-24 14:00:01.000,\"" + strings.ReplaceAll(twoRecords[0], `"`, `""`) + "\"\n",
		"CloudWatch subscription through AWS": mustJSON(object{"awslogs": object{"data": packedEvents()}}),
		"CloudWatch subscription, Kinesis":    mustJSON(object{"Records": []object{{"kinesis": object{"data": packedEvents()}}}}),
		"documents without a break between":   mustJSON(object{"logEvents": events()[:1]}) + mustJSON(object{"logEvents": events()[1:]}),
		"Cloud Logging, newest first":         mustJSON(reversed([]object{{"textPayload": twoRecords[0], "timestamp": "2026-03-24T14:00:01Z"}, {"textPayload": twoRecords[1], "timestamp": "2026-03-24T14:00:03Z"}})),
		"Cloud Logging, a line each":          mustJSON(pieces("textPayload", true)),
		"Cloud Logging, jsonPayload":          mustJSON(object{"jsonPayload": object{"message": twoRecords[0]}}) + "\n" + mustJSON(object{"jsonPayload": object{"message": twoRecords[1]}}) + "\n",
		"a search index":                      mustJSON(object{"_source": object{"message": twoRecords[0]}}) + "\n" + mustJSON(object{"_source": object{"message": twoRecords[1]}}) + "\n",
	}
	for name, log := range tests {
		t.Run(name, func(t *testing.T) {
			events, faults := readAll(t, text(log), Options{})
			compare(t, events, twoWanted)
			if len(faults) > 0 {
				t.Error(faults)
			}
			s := summarise(t, Options{BlockSize: 64}, text(log))
			if c := s.Coverage()[0]; c.Read != 2 || c.Skipped != 0 {
				t.Errorf("read %d, skipped %d", c.Read, c.Skipped)
			}
		})
	}
}

// tableRows are two rows of mysql.slow_log in every form in which a client prints them.
func TestWrappedTables(t *testing.T) {
	const names = "start_time\tuser_host\tquery_time\tlock_time\trows_sent\trows_examined\tdb\tlast_insert_id\tinsert_id\tserver_id\tsql_text\tthread_id\trows_affected\n"
	const first = "2026-11-30 18:10:11.216301\tshop[shop] @ web-1 [10.0.0.1]\t00:00:01.500000\t00:00:00.001350\t3\t0\tshop\t0\t0\t1\t"
	const second = "2026-11-30 18:10:12.000000\tshop[shop] @ web-2 [10.0.0.2]\t00:00:02.000000\t00:00:00.000000\t0\t0\tNULL\t0\t0\t1\t"
	dump := "-- MariaDB dump 10.19\n/*!40103 SET TIME_ZONE='+00:00' */;\nCREATE TABLE IF NOT EXISTS `slow_log` (\n  `start_time` timestamp(6) NOT NULL\n);\n" +
		`INSERT INTO %s VALUES ('2026-11-30 18:10:11.216301','shop[shop] @ web-1 [10.0.0.1]','00:00:01.500000','00:00:00.001350',3,0,'shop',0,0,1,%s'SELECT \'a\',\n\\t','4','0'),%s('2026-11-30 18:10:12.000000','shop[shop] @ web-2 [10.0.0.2]','00:00:02.000000','00:00:00.000000',0,0,NULL,0,0,1,'SELECT 2',5,0);` + "\nUNLOCK TABLES;\n"
	vertical := func(texts ...string) (out string) {
		for i, row := range []string{first, second} {
			fields := strings.Split(row+texts[i]+fmt.Sprintf("\t%d\t0", 4+i), "\t")
			out += fmt.Sprintf("*************************** %d. row ***************************\n", i+1)
			for k, name := range strings.Split(strings.TrimSpace(names), "\t") {
				out += fmt.Sprintf("%14s: %s\n", name, fields[k])
			}
		}
		return out + "2 rows in set (0.01 sec)\n\n"
	}
	box := func(texts ...string) string {
		var b strings.Builder
		border := "+" + strings.Repeat("----------------------------+", 13) + "\n"
		line := func(row string) {
			for f := range strings.SplitSeq(row, "\t") {
				fmt.Fprintf(&b, "| %-26s ", f)
			}
			b.WriteString("|\n")
		}
		b.WriteString(border)
		line(strings.TrimSpace(names))
		b.WriteString(border)
		for i, row := range []string{first, second} {
			line(row + texts[i] + fmt.Sprintf("\t%d\t0", 4+i))
		}
		return b.String() + border + "2 rows in set (0.01 sec)\n"
	}
	want := func(text string) []want {
		return []want{
			{time: "2026-11-30T18:10:11.216301Z", query: text, host: "web-1", user: "shop", db: "shop", duration: 1500 * time.Millisecond, sent: 3, thread: 4},
			{time: "2026-11-30T18:10:12Z", query: "SELECT 2", host: "web-2", duration: 2 * time.Second, thread: 5},
		}
	}
	tests := []struct{ name, log, query string }{
		{"mysql -B", names + first + `SELECT 'a\t\\',\n 1` + "\t4\t0\n" + second + "SELECT 2\t5\t0\n", "SELECT 'a\t\\',\n 1"},
		{"mysql -B -N", first + `SELECT 'a',\n 1` + "\t4\t0\n" + second + "SELECT 2\t5\t0\n", "SELECT 'a',\n 1"},
		{"INTO OUTFILE", first + "SELECT 'a\\\t\\\\',\\\n2026-11-30 18:10:11\t4\t0\n" + strings.ReplaceAll(second, "NULL", `\N`) + "SELECT 2\t5\t0\n", "SELECT 'a\t\\',\n2026-11-30 18:10:11"},
		{"box", box("SELECT a | b,\n       1", "SELECT 2"), "SELECT a | b,\n       1"},
		{"box with a binary text", box("0x53454C4543542031", "SELECT 2"), "SELECT 1"},
		{`\G`, vertical("SELECT 'x: 1',\ndb: 2", "SELECT 2"), "SELECT 'x: 1',\ndb: 2"},
		{"mysqldump", fmt.Sprintf(dump, "`slow_log`", "", ""), "SELECT 'a',\n\\t"},
		{"mysqldump of MySQL 8", fmt.Sprintf(dump, "`mysql`.`slow_log`", "_binary ", "\n"), "SELECT 'a',\n\\t"},
		{"JSON lines of a shell", mustJSON(object{"start_time": "2026-11-30 18:10:11.216301", "user_host": "shop[shop] @ web-1 [10.0.0.1]", "query_time": "00:00:01.500000", "rows_sent": 3, "db": "shop", "sql_text": "SELECT 'a'\n\t\\", "thread_id": 4, "rows_affected": 0}) + "\n" +
			mustJSON(object{"start_time": "2026-11-30 18:10:12", "user_host": "shop[shop] @ web-2 [10.0.0.2]", "query_time": "2.0", "rows_sent": 0, "db": "", "sql_text": "SELECT 2", "thread_id": 5, "rows_affected": 0}) + "\n", "SELECT 'a'\n\t\\"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, faults := readAll(t, text(tt.log), Options{})
			compare(t, events, want(tt.query))
			if len(faults) > 0 {
				t.Error(faults)
			}
			for _, size := range []int{16, 100, 0} {
				if c := summarise(t, Options{BlockSize: size}, text(tt.log)).Coverage()[0]; c.Read != 2 || c.Skipped != 0 {
					t.Errorf("blocks of %d: read %d, skipped %d", size, c.Read, c.Skipped)
				}
			}
		})
	}
}

func TestWrappedGeneralTables(t *testing.T) {
	const names = "event_time\tuser_host\tthread_id\tserver_id\tcommand_type\targument\n"
	tests := map[string]string{
		"mysql -B":          names + "2026-11-30 18:10:11.5\ta[a] @  [10.0.0.1]\t4\t1\tQuery\tSELECT 1\\n FROM t\n",
		"INTO OUTFILE":      "2026-11-30 18:10:11.5\ta[a] @  [10.0.0.1]\t4\t1\tQuery\tSELECT 1\\\n FROM t\n",
		`\G`:                "*************************** 1. row ***************************\n  event_time: 2026-11-30 18:10:11.5\n   user_host: a[a] @  [10.0.0.1]\n   thread_id: 4\n   server_id: 1\ncommand_type: Query\n    argument: SELECT 1\n FROM t\n1 row in set (0.00 sec)\n",
		"mysqldump":         "INSERT INTO `general_log` VALUES ('2026-11-30 18:10:11.5','a[a] @  [10.0.0.1]',4,1,'Query','SELECT 1\\n FROM t');\n",
		"mysqldump, lines":  "INSERT INTO `general_log` VALUES\n('2026-11-30 18:10:11.5','a[a] @  [10.0.0.1]',4,1,'Query','SELECT 1\\n FROM t');\n",
		"mysqldump -c":      "INSERT INTO \"general_log\" (`event_time`, `user_host`, `thread_id`, `argument`, `command_type`) VALUES ('2026-11-30 18:10:11.5','a[a] @  [10.0.0.1]',4,'SELECT 1\\n FROM t','Query');\n",
		"JSON":              mustJSON(object{"event_time": "2026-11-30 18:10:11.5", "user_host": "a[a] @  [10.0.0.1]", "thread_id": 4, "server_id": 1, "command_type": "Query", "argument": "SELECT 1\n FROM t"}) + "\n",
		"docker timestamps": "2026-11-30T18:10:11.1Z 2026-11-30T18:10:11.500000Z\t    4 Query\tSELECT 1\n2026-11-30T18:10:11.1Z  FROM t\n",
	}
	for name, log := range tests {
		t.Run(name, func(t *testing.T) {
			events, faults := readAll(t, text(log), Options{})
			compare(t, events, []want{{time: "2026-11-30T18:10:11.5Z", query: "SELECT 1\n FROM t", thread: 4}})
			if len(faults) > 0 {
				t.Error(faults)
			}
		})
	}
}

// TestAzure reads what Azure Monitor exports: to a storage account, and from its table.
func TestAzure(t *testing.T) {
	for name, log := range map[string]string{
		"storage": mustJSON(object{"time": "2026-11-30T18:10:11Z", "category": "MySqlSlowLogs", "properties": object{"event_class": "slow_log", "start_time": "2026-11-30T18:10:11.500000Z", "user": "a", "host": "10.0.0.1", "query_time": "1.500000", "rows_sent": "3", "sql_text": "SELECT 1", "thread_id": "4"}}) + "\n",
		"hub":     mustJSON(object{"records": []object{{"properties": object{"start_time_t": "2026-11-30T18:10:11.5Z", "user_s": "a", "host_s": "10.0.0.1", "query_time_d": 1.5, "rows_sent_d": 3, "sql_text_s": "SELECT 1", "thread_id_s": "4"}}}}),
		"table":   mustJSON([]object{{"StartTime": "2026-11-30T18:10:11.5Z", "User": "a", "Host": "10.0.0.1", "QueryDurationMs": 1500, "RowsSent": 3, "SqlText": "SELECT 1", "ThreadId": 4}}),
	} {
		t.Run(name, func(t *testing.T) {
			events, faults := readAll(t, text(log), Options{})
			compare(t, events, []want{{time: "2026-11-30T18:10:10Z", query: "SELECT 1", user: "a", host: "10.0.0.1", duration: 1500 * time.Millisecond, sent: 3, thread: 4}})
			if len(faults) > 0 {
				t.Error(faults)
			}
		})
	}
}

// TestDamagedWrapping counts what was not understood, with its line.
func TestDamagedWrapping(t *testing.T) {
	log := mustJSON(object{"MESSAGE": twoRecords[0]}) + "\n{broken\n" + mustJSON(object{"PRIORITY": "6"}) + "\n" + mustJSON(object{"MESSAGE": twoRecords[1]}) + "\n"
	s, err := Summarise(t.Context(), []Source{text(log)}, Options{})
	c := s.Coverage()[0]
	if err != nil || c.Read != 2 || c.Skipped != 2 || len(c.Errors) != 2 || c.Errors[0].Line != 2 || c.Errors[1].Line != 3 {
		t.Errorf("%v: %+v", err, c)
	}
	cut := mustJSON(object{"logEvents": events()})
	s, err = Summarise(t.Context(), []Source{text(cut + cut[:len(cut)/2])}, Options{})
	if c := s.Coverage()[0]; !errors.Is(err, errJSON) || c.Read != 2 || c.Complete {
		t.Errorf("%v: %+v", err, c)
	}
}

// FuzzUnwrap feeds every unwrapper: it must end, and give what it gave in other pieces.
func FuzzUnwrap(f *testing.F) {
	for _, s := range []string{
		strings.Join(twoRecords, "\t"), mustJSON(object{"events": events()}), "[" + mustJSON(events()[0]), `{"a":[[[`,
		"EVENTS\t1\tx\t1774360801000\n", "+--+\n| start_time | user_host | sql_text |\n+--+\n| a | b | c |\n", "*************************** 1. row ***************************\nstart_time: 1\nuser_host: x\nsql_text: y\n",
		"INSERT INTO `slow_log` VALUES ('a',1),(", packedEvents(), "@timestamp,@message\n1,\"a\"\n", "\\\t\\\n",
	} {
		for w := range uint8(wrapCSV) + 1 {
			f.Add([]byte(s), w)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, w uint8) {
		d := detected{wrap: wrapping(w % (uint8(wrapCSV) + 1))}
		if len(bytes.TrimSpace(data)) == 0 {
			return // never unwrapped
		}
		for _, p := range []prefix{nil, streamPrefix, journalPrefix, podPrefix, composePrefix, containerPrefix} {
			d.prefix = p
			a, _ := io.ReadAll(unwrap(bytes.NewReader(data), d))
			b, _ := io.ReadAll(unwrap(&slowly{data}, d))
			if !bytes.Equal(a, b) {
				t.Fatalf("%q, and in pieces %q", a, b)
			}
		}
	})
}

// slowly gives one byte at a time.
type slowly struct{ left []byte }

func (s *slowly) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:1], s.left)
	s.left = s.left[n:]
	return n, nil
}

// TestSavedErrors keeps what was not understood in a saved summary.
func TestSavedErrors(t *testing.T) {
	s, _ := Summarise(t.Context(), []Source{text("stray\n" + strings.Join(twoRecords, "\n") + "\n")}, Options{})
	want := s.Coverage()[0].Errors
	got := reload(t, s).Coverage()[0].Errors
	if len(want) != 1 || len(got) != 1 || got[0].Error() != want[0].Error() {
		t.Errorf("%v, saved %v", want, got)
	}
}
