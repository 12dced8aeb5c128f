package live

import "time"

// Access is one statement that herdscan sends, for --explain-access.
type Access struct {
	SQL   string
	Needs string // the privilege that permits it
	Why   string
}

// mark begins every statement, so that it is known in the server's own logs.
const mark = "/* herdscan */ "

// ownName is the name of the first column of what is selected. Digests keep
// no comments, and write some words by other names.
const ownName = "`herdscan`"

const (
	sqlReadOnly    = mark + "SET SESSION TRANSACTION READ ONLY"
	sqlZone        = mark + "SET SESSION time_zone = @@global.time_zone"
	sqlServer      = mark + "SELECT VERSION() AS herdscan, CONNECTION_ID(), UNIX_TIMESTAMP(NOW(6)), @@global.log_output, @@global.slow_query_log, @@global.general_log, @@global.long_query_time, @@global.performance_schema"
	sqlRate        = mark + "SHOW GLOBAL VARIABLES LIKE 'log_slow_rate_limit'"
	sqlSlowLog     = mark + "SELECT UNIX_TIMESTAMP(start_time) AS herdscan, t.* FROM mysql.slow_log t"
	sqlGeneral     = mark + "SELECT UNIX_TIMESTAMP(event_time) AS herdscan, t.* FROM mysql.general_log t"
	sqlLastSlow    = mark + "SELECT FLOOR((UNIX_TIMESTAMP(start_time) - UNIX_TIMESTAMP(NOW(6))) / 900) AS herdscan, COUNT(*) FROM mysql.slow_log WHERE start_time > NOW() - INTERVAL 26 HOUR GROUP BY 1"
	sqlLastGeneral = mark + "SELECT FLOOR((UNIX_TIMESTAMP(event_time) - UNIX_TIMESTAMP(NOW(6))) / 900) AS herdscan, COUNT(*) FROM mysql.general_log WHERE event_time > NOW() - INTERVAL 26 HOUR GROUP BY 1"
	sqlDigests     = mark + "SELECT COALESCE(SCHEMA_NAME, '') AS herdscan, COALESCE(DIGEST, ''), COALESCE(DIGEST_TEXT, ''), COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_statements_summary_by_digest"
	sqlExecuted    = mark + "SELECT COUNT_STAR AS herdscan FROM performance_schema.events_statements_summary_global_by_event_name WHERE EVENT_NAME = 'statement/com/Execute'"
	sqlGrants      = mark + "SHOW GRANTS"

	runs             = " FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Query', 'Execute') AND INFO IS NOT NULL AND ID <> CONNECTION_ID()"
	running          = mark + "SELECT ID AS herdscan, USER, HOST, COALESCE(DB, ''), COMMAND = 'Execute', "
	sqlProcesses     = running + "TIME * 1000, 0, LENGTH(INFO), LEFT(INFO, 16384)" + runs
	sqlProcessesFine = running + "TIME_MS, QUERY_ID, LENGTH(INFO), LEFT(INFO, 16384)" + runs
)

// ExplainAccess lists every statement that is sent and the privilege it needs.
func ExplainAccess() []Access {
	return []Access{
		{sqlReadOnly, "none", "the session can't write, whatever is sent"},
		{sqlZone, "none", "times are read in the zone in which sessions write them unless they choose another"},
		{sqlServer, "none", "version, settings of the logs, the own connection"},
		{sqlRate, "none", "is the slow log sampled?"},
		{sqlSlowLog, "GRANT SELECT ON mysql.slow_log", "the slow log, read once (log_output=TABLE)"},
		{sqlGeneral, "GRANT SELECT ON mysql.general_log", "the general log, read once (log_output=TABLE)"},
		{sqlLastSlow, "GRANT SELECT ON mysql.slow_log", "does the table reach into the future? Then sessions wrote it in zones of their own"},
		{sqlLastGeneral, "GRANT SELECT ON mysql.general_log", "the same"},
		{sqlGrants, "none", "--live: may it see what others run?"},
		{sqlDigests, "GRANT SELECT ON performance_schema.*", "--live: where the counters of all statements stand, once"},
		{digestsSince(time.Second), "GRANT SELECT ON performance_schema.*", "--live: how often each statement ran, once a second"},
		{sqlExecuted, "GRANT SELECT ON performance_schema.*", "--live: how many prepared statements ran, at the beginning and the end"},
		{sqlProcessesFine, "GRANT PROCESS ON *.* (without it: own connections only)", "--live: texts and clients of what runs now, ten times a second, from MariaDB"},
		{sqlProcesses, "GRANT PROCESS ON *.* (without it: own connections only)", "--live: the same from MySQL"},
	}
}
