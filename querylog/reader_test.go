package querylog

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

const bannerMySQL8 = "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n" +
	"Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n"

const bannerMaria = "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:\n" +
	"Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n"

// want is one expected event; zero fields are not compared.
type want struct {
	time, query, user, host, db string
	duration                    time.Duration
	thread, sent                uint64
	kind                        Kind
}

func TestSlowForms(t *testing.T) {
	tests := []struct {
		name, log string
		o         Options
		want      []want
		faults    int
	}{
		{
			name: "MySQL 8: the time is the end, with microseconds",
			log: bannerMySQL8 + "# Time: 2026-03-24T14:01:47.811234Z\n# User@Host: app[app] @ web-1 [10.0.0.1]  Id:    14\n" +
				"# Query_time: 2.475469  Lock_time: 0.000287 Rows_sent: 10  Rows_examined: 3145718\nuse shop;\nSET timestamp=1774360905;\nSELECT 1\n FROM t;\n",
			want: []want{{time: "2026-03-24T14:01:45.335765Z", query: "SELECT 1\n FROM t", user: "app", host: "web-1", db: "shop", duration: 2475469 * time.Microsecond, thread: 14, sent: 10}},
		},
		{
			name: "log_slow_extra says the start",
			log: "# Time: 2026-03-24T14:04:53.713951Z\n# User@Host: root[root] @ localhost []  Id:    16\n" +
				"# Query_time: 2.631844  Lock_time: 0.000145 Rows_sent: 10  Rows_examined: 3 Thread_id: 16 Errno: 1062 Killed: 0 Start: 2026-03-24T14:04:51.000000Z End: 2026-03-24T14:04:53.713951Z\nSET timestamp=1774361091;\nSELECT 2;\n",
			want: []want{{time: "2026-03-24T14:04:51Z", query: "SELECT 2", host: "localhost", thread: 16}},
		},
		{
			name: "MariaDB: SET timestamp is the start, a time line stands for many records and may go back",
			log: bannerMaria + "# Time: 261130 18:10:12\n# User@Host: a[a] @  [10.0.0.1]\n# Thread_id: 4  Schema: shop  QC_hit: No\n" +
				"# Query_time: 0.5  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0\n# Rows_affected: 3  Bytes_sent: 11\n#\n# explain: id\tselect_type\n#\nSET timestamp=1796062212;\nUPDATE a SET b=1;\n" +
				"# Time: 261130 18:10:10\n# User@Host: a[a] @  [10.0.0.1]\n# Thread_id: 5  Schema:   QC_hit: No\n# Query_time: 4.0  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 0\nSET timestamp=1796062210;\nSELECT 3;\n",
			want: []want{
				{time: "2026-11-30T18:10:12Z", query: "UPDATE a SET b=1", user: "a", host: "10.0.0.1", db: "shop", thread: 4},
				{time: "2026-11-30T18:10:10Z", query: "SELECT 3", duration: 4 * time.Second, thread: 5},
			},
		},
		{
			name: "MySQL 5.6: SET timestamp is the end, in whole seconds",
			log: "# Time: 141005 13:05:00\n# User@Host: hoge[hoge] @  [192.168.0.10]  Id: 7859392\n" +
				"# Query_time: 3.0  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1412514300;\ncommit;\n",
			want: []want{{time: "2014-10-05T13:04:57Z", query: "commit", thread: 7859392}},
		},
		{
			name: "times without a zone are in the given one",
			log: "# Time: 141005  9:05:00\n# User@Host: a[a] @ h []\n# Query_time: 0  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSELECT 1;\n" +
				"# User@Host: a[a] @ h []\n# Query_time: 0  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSELECT 2;\n",
			o:    Options{Zone: time.FixedZone("X", 3600)},
			want: []want{{time: "2014-10-05T08:05:00Z", query: "SELECT 1"}, {time: "2014-10-05T08:05:00Z", query: "SELECT 2"}},
		},
		{
			name: "time and client on one line, replication thread, no banner",
			log: "# Time: 071218 11:48:27 # User@Host: [SQL_SLAVE] @  []\n# Thread_id: 10\n# Query_time: 0.7  Lock_time: 0  Rows_sent: 0  Rows_examined: 62951\n" +
				"# No InnoDB statistics available for this query\nuse db1;\nSET timestamp=1197996507;\nupdate x set y=1;\n",
			want: []want{{query: "update x set y=1", user: "SQL_SLAVE", db: "db1", thread: 10}},
		},
		{
			name: "administrator commands, use as a statement, a banner in between",
			log: "# User@Host: a[a] @ h []\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\n# administrator command: Quit;\n" +
				bannerMySQL8 + "# User@Host: a[a] @ h []\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nuse `shop`;\n" +
				"# User@Host: a[a] @ h []\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSET timestamp=1197996507;\n# administrator command: Ping;\n",
			want: []want{{query: "Quit", kind: KindAdmin}, {query: "use `shop`"}, {query: "Ping", kind: KindAdmin}},
		},
		{
			name: "a header inside a string is text",
			log: "# Time: 2026-03-24T14:00:00.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1774360800;\n" +
				"INSERT INTO r VALUES ('copied:\n# Time: 200101  0:00:00\n# User@Host: root[root] @ localhost []\n# Query_time: 99\nSET timestamp=1577836800;\nDROP TABLE x');\n" +
				"# Time: 2026-03-24T14:00:01.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSELECT 1;\n",
			want: []want{
				{query: "INSERT INTO r VALUES ('copied:\n# Time: 200101  0:00:00\n# User@Host: root[root] @ localhost []\n# Query_time: 99\nSET timestamp=1577836800;\nDROP TABLE x')"},
				{query: "SELECT 1", time: "2026-03-24T14:00:00.9Z"},
			},
		},
		{
			name: "a string that never ends does not swallow the log",
			log: "# Time: 2026-03-24T14:00:00.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSELECT 'C:\\';\n" +
				strings.Repeat("# Time: 2026-03-24T14:00:01.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSELECT 1;\n", 20),
			want: append([]want{{query: `SELECT 'C:\'`}}, repeated(want{query: "SELECT 1"}, 20)...),
		},
		{
			name: "falsified time is not believed",
			log: "# Time: 261130 18:10:12\n# User@Host: a[a] @  [1]\n# Thread_id: 4  Schema: s  QC_hit: No\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSET timestamp=1796062212;\nSELECT 1;\n" +
				"# Time: 010909  1:46:40\n# User@Host: a[a] @  [1]\n# Thread_id: 4  Schema: s  QC_hit: No\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSET timestamp=1000000000;\nSELECT 2;\n",
			want: []want{{time: "2026-11-30T18:10:12Z", query: "SELECT 1"}, {time: "2026-11-30T18:10:12Z", query: "SELECT 2"}},
		},
		{
			name: "a log that begins with a falsified time",
			log: "# Time: 010909  1:46:40\n# User@Host: a[a] @  [1]\n# Thread_id: 4  Schema: s  QC_hit: No\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSET timestamp=1000000000;\nSELECT 2;\n" +
				strings.Repeat("# Time: 261130 18:10:12\n# User@Host: a[a] @  [1]\n# Thread_id: 4  Schema: s  QC_hit: No\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nSET timestamp=1796062212;\nSELECT 1;\n", 3),
			want: append([]want{{time: "0001-01-01T00:00:00Z", query: "SELECT 2"}}, repeated(want{time: "2026-11-30T18:10:12Z", query: "SELECT 1"}, 3)...),
		},
		{
			name: "tail of a statement, impossible duration, record cut off",
			log: "FROM somewhere;\n# User@Host: a[a] @ h []\n# Query_time: 18446744073708.796870.000036  Lock_time: 0.000036  Rows_sent: 1  Rows_examined: 127\nSELECT 1;\n" +
				"# Time: 2026-03-24T14:00:01.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_ti",
			want:   []want{{query: "SELECT 1", sent: 1}},
			faults: 3,
		},
		{
			name: "TiDB",
			log:  "# Time: 2026-08-14T09:26:59.487776265+08:00\n# Txn_start_ts: 1\n# User@Host: root[root] @ 127.0.0.1 [127.0.0.1]\n# Conn_ID: 3086\n# Query_time: 1.5\n# DB: test\n# Succ: false\ninsert into t select * from t;\n",
			want: []want{{time: "2026-08-14T01:26:57.987776265Z", query: "insert into t select * from t", host: "127.0.0.1", db: "test", thread: 3086}},
		},
		{
			name: "old TiDB",
			log:  "# Time: 2019-03-18-12:10:19.513961 +0800\n# User: root@127.0.0.1\n# Conn_ID: 1\n# Query_time: 0.5\n# DB: test\nselect * from t;\n",
			want: []want{{time: "2019-03-18T04:10:19.013961Z", query: "select * from t", user: "root", host: "127.0.0.1"}},
		},
		{
			name: "no line break at the end, and Windows line breaks",
			log:  "# User@Host: a[a] @ h []\r\n# Query_time: 0.5  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\r\nSET timestamp=1774360800;\r\nSELECT 1;\r\n# User@Host: a[a] @ h []\r\n# Query_time: 0.5  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\r\nSELECT 2",
			want: []want{{query: "SELECT 1"}, {query: "SELECT 2"}},
		},
		{
			name: "one record on one line (CloudWatch)",
			log: "# Time: 190227 9:46:00 # User@Host: rdsadmin[rdsadmin] @ localhost [] Id: 4069049 # Query_time: 0.000202 Lock_time: 0.000077 Rows_sent: 1 Rows_examined: 1 SET timestamp=1551260760; SELECT count(*) from x where a = \"b # c\";\n" +
				"# Time: 190418 8:55:34 # User@Host: root[root] @ [172.30.0.229] Id: 19348 # Query_time: 3.000551 Lock_time: 0.000000 Rows_sent: 1 Rows_examined: 0 SET timestamp=1555577734; select sleep(3);\n",
			want: []want{{query: "SELECT count(*) from x where a = \"b # c\"", user: "rdsadmin", thread: 4069049}, {query: "select sleep(3)", host: "172.30.0.229", time: "2019-04-18T08:55:31Z"}},
		},
		{
			name: "CloudWatch subscription",
			log:  `{"messageType":"DATA_MESSAGE","logEvents":[{"id":"1","timestamp":1568944318000,"message":"# Time: 190123 12:34:56\n# User@Host: root[root] @  [10.0.1.133]  Id:  1139\n# Query_time: 10.955901  Lock_time: 0.000120 Rows_sent: 1  Rows_examined: 11376188\nUSE employees;\nSET timestamp=1568944318;\nselect 1;"}]}`,
			want: []want{{query: "select 1", db: "employees", host: "10.0.1.133"}},
		},
		{
			name: "docker json-file",
			log: `{"log":"# Time: 2026-03-24T14:00:01.000000Z\n","stream":"stderr","time":"x"}` + "\n" + `{"log":"# User@Host: a[a] @ h []  Id: 1\n"}` + "\n" +
				`{"log":"# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\n"}` + "\n" + `{"log":"SELECT 1;\n"}` + "\n",
			want: []want{{query: "SELECT 1", time: "2026-03-24T14:00:00.9Z"}},
		},
		{
			name: "docker compose prefix",
			log:  "db-1  | # Time: 2026-03-24T14:00:01.000000Z\ndb-1  | # User@Host: a[a] @ h []  Id: 1\ndb-1  | # Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\ndb-1  | SELECT 1;\n",
			want: []want{{query: "SELECT 1", time: "2026-03-24T14:00:00.9Z"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, faults := readAll(t, text(tt.log), tt.o)
			compare(t, events, tt.want)
			if len(faults) != tt.faults {
				t.Errorf("%d bad places, want %d: %v", len(faults), tt.faults, faults)
			}
		})
	}
}

func repeated(w want, n int) (out []want) {
	for range n {
		out = append(out, w)
	}
	return out
}

func compare(t *testing.T, events []got, wants []want) {
	t.Helper()
	if len(events) != len(wants) {
		t.Fatalf("%d events, want %d: %+v", len(events), len(wants), events)
	}
	for i, w := range wants {
		e := events[i]
		if w.time != "" && e.Time.Format(time.RFC3339Nano) != w.time {
			t.Errorf("event %d: time %s, want %s", i, e.Time.Format(time.RFC3339Nano), w.time)
		}
		if w.query != e.query {
			t.Errorf("event %d: query %q, want %q", i, e.query, w.query)
		}
		for _, p := range [][2]string{{w.user, e.User}, {w.host, e.Host}, {w.db, e.DB}} {
			if p[0] != "" && p[0] != p[1] {
				t.Errorf("event %d: %q, want %q", i, p[1], p[0])
			}
		}
		if w.duration != 0 && w.duration != e.Duration || w.thread != 0 && w.thread != e.ThreadID || w.sent != 0 && w.sent != e.RowsSent || w.kind != e.Kind {
			t.Errorf("event %d: %+v, want %+v", i, e.Event, w)
		}
	}
}

func TestGeneralForms(t *testing.T) {
	tests := []struct {
		name, log string
		want      []want
	}{
		{
			name: "MariaDB: a stamp for each second, clients from Connect lines",
			log: bannerMaria + "261130 18:10:11\t     4 Connect\tshop@10.0.0.1 on shop using TCP/IP\n\t\t     4 Query\tSELECT 1\n FROM t\n\t\t     5 Prepare\tSELECT ?\n" +
				"261130  8:10:12\t     4 Execute\tSELECT 2\n\t\t     4 Init DB\tother\n\t\t     4 Query\tSELECT 3\n\t\t     4 Close stmt\t\n\t\t     4 Quit\t\n\t\t     6 Connect\tAccess denied for user 'x'@'y' (using password: NO)\n",
			want: []want{
				{time: "2026-11-30T18:10:11Z", query: "shop@10.0.0.1 on shop using TCP/IP", host: "10.0.0.1", kind: KindConnect},
				{query: "SELECT 1\n FROM t", host: "10.0.0.1", db: "shop", thread: 4},
				{query: "SELECT ?", kind: KindPrepare},
				{time: "2026-11-30T08:10:12Z", query: "SELECT 2", kind: KindExecute},
				{query: "other", kind: KindAdmin},
				{query: "SELECT 3", db: "other"},
				{query: "", kind: KindAdmin},
				{query: "", kind: KindQuit},
				{query: "Access denied for user 'x'@'y' (using password: NO)", kind: KindDenied},
			},
		},
		{
			name: "MySQL 5.7 with an offset",
			log:  "2018-09-07T18:45:40.098124+08:00\t257426 Connect\ta@127.0.0.1 on  using TCP/IP\n2018-09-07T18:45:40.098511+08:00\t257426 Query\tset autocommit=0\n",
			want: []want{{time: "2018-09-07T10:45:40.098124Z", query: "a@127.0.0.1 on  using TCP/IP", kind: KindConnect}, {time: "2018-09-07T10:45:40.098511Z", query: "set autocommit=0", host: "127.0.0.1"}},
		},
		{
			name: "blanks instead of tabs",
			log:  "100211  0:55:24      51 Query       SELECT category_id\n                FROM auction\n                     51 Query       SELECT 2\n",
			want: []want{{time: "2010-02-11T00:55:24Z", query: "SELECT category_id\n                FROM auction"}, {query: "SELECT 2", thread: 51}},
		},
		{
			name: "a line of another log inside a string is text",
			log:  "261130 18:10:11\t     4 Query\tINSERT INTO r VALUES ('x:\n200101  0:00:00\t    99 Query\tDROP TABLE x')\n\t\t     5 Query\tSELECT 1\n",
			want: []want{{query: "INSERT INTO r VALUES ('x:\n200101  0:00:00\t    99 Query\tDROP TABLE x')"}, {query: "SELECT 1", time: "2026-11-30T18:10:11Z"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, faults := readAll(t, text(tt.log), Options{})
			compare(t, events, tt.want)
			if len(faults) > 0 {
				t.Errorf("bad places: %v", faults)
			}
		})
	}
}

func TestTableForms(t *testing.T) {
	const header = "start_time,user_host,query_time,lock_time,rows_sent,rows_examined,db,last_insert_id,insert_id,server_id,sql_text,thread_id,rows_affected\n"
	tests := []struct {
		name, log string
		want      []want
	}{
		{
			name: "export with a header, MariaDB",
			log:  header + "2026-11-30 18:10:11.216301,shop[shop] @  [10.0.0.1],00:00:01.5,00:00:00.001350,3,0,shop,0,0,1,\"SELECT \"\"a\"\",\n 1\",4,0\n",
			want: []want{{time: "2026-11-30T18:10:11.216301Z", query: "SELECT \"a\",\n 1", host: "10.0.0.1", db: "shop", duration: 1500 * time.Millisecond, sent: 3, thread: 4}},
		},
		{
			name: "engine file, MariaDB",
			log:  `"2026-11-30 18:10:11.216301","shop[shop] @  [10.0.0.1]","00:00:01.5","00:00:00.0",3,0,"shop",0,0,1,"SELECT \"a\",\n '\\'",4,0` + "\n",
			want: []want{{time: "2026-11-30T18:10:11.216301Z", query: "SELECT \"a\",\n '\\'", duration: 1500 * time.Millisecond}},
		},
		{
			name: "engine file, MySQL: the time is the end",
			log:  `"2026-11-30 18:10:11.5","shop[shop] @  [10.0.0.1]","00:00:01.5","00:00:00.0",3,0,"shop",0,0,1,"SELECT 1",4` + "\n",
			want: []want{{time: "2026-11-30T18:10:10Z", query: "SELECT 1"}},
		},
		{
			name: "general log",
			log:  "event_time,user_host,thread_id,server_id,command_type,argument\n2026-11-30 18:10:11.2,[a] @  [10.0.0.1],4,1,Connect,a@10.0.0.1 on shop\n2026-11-30 18:10:11.3,a[a] @  [10.0.0.1],4,1,Query,SELECT 1\n",
			want: []want{{query: "a@10.0.0.1 on shop", kind: KindConnect}, {query: "SELECT 1", user: "a", host: "10.0.0.1", time: "2026-11-30T18:10:11.3Z"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, faults := readAll(t, text(tt.log), Options{})
			compare(t, events, tt.want)
			if len(faults) > 0 {
				t.Errorf("bad places: %v", faults)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	log := bannerMySQL8 + "# Time: 2026-03-24T14:00:01.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSELECT\n1;\n" +
		"# Time: yesterday\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSELECT 2;\n"
	events, faults := readAll(t, text(log), Options{BlockSize: 64})
	if len(events) != 2 || events[0].Line != 4 || events[1].Line != 9 || !strings.HasPrefix(log[events[1].Offset:], "# Time: yesterday") {
		t.Errorf("places of the events: %+v", events)
	}
	if len(faults) != 1 || faults[0].Line != 9 || !strings.HasPrefix(log[faults[0].Offset:], "# Time: yesterday") || faults[0].Error() == "" {
		t.Errorf("places of the faults: %+v", faults)
	}
}

func TestOneByte(t *testing.T) {
	log := smallLog()
	wantEvents, _ := readAll(t, text(log), Options{})
	one := Source{Name: "test", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(iotest.OneByteReader(strings.NewReader(log))), nil
	}}
	events, _ := readAll(t, one, Options{BlockSize: 100})
	if len(events) != len(wantEvents) || len(events) == 0 {
		t.Fatalf("%d events, want %d", len(events), len(wantEvents))
	}
	for i := range events {
		if events[i].query != wantEvents[i].query || events[i].Time != wantEvents[i].Time || events[i].Line != wantEvents[i].Line {
			t.Fatalf("event %d: %+v, want %+v", i, events[i], wantEvents[i])
		}
	}
}

func TestBrokenInput(t *testing.T) {
	boom := errors.New("the disk is gone")
	src := Source{Name: "test", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(smallLog()), iotest.ErrReader(boom))), nil
	}}
	r, err := NewReader(src, Options{BlockSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		_, err = r.Read()
		var pe *ParseError
		if err != nil && !errors.As(err, &pe) {
			break
		}
		n++
	}
	if !errors.Is(err, boom) || n == 0 {
		t.Errorf("%d events, then %v", n, err)
	}
}

func TestZoneClock(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	wall := func(d, h, m int) int64 { return civil(2024, 11, d, h, m, 0) }
	z := zoneClock{zone: zone}
	var got []string
	for _, w := range []int64{wall(2, 12, 0), wall(3, 0, 30), wall(3, 1, 30), wall(3, 1, 59), wall(3, 1, 0), wall(3, 1, 30), wall(3, 2, 0)} {
		got = append(got, time.Unix(0, z.utc(w)).UTC().Format("15:04"))
	}
	want := "16:00 04:30 05:30 05:59 06:00 06:30 07:00"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
	if z.unresolved == 0 {
		t.Error("the repeated hour was not noted")
	}
}
