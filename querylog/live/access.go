package live

// Access is one statement that herdscan sends, for --explain-access.
type Access struct {
	SQL   string
	Needs string // the privilege that permits it
	Why   string
}

// mark begins every statement, so that it is known in the server's own logs.
const mark = "/* herdscan */ "

const (
	sqlReadOnly  = mark + "SET SESSION TRANSACTION READ ONLY"
	sqlServer    = mark + "SELECT VERSION(), CONNECTION_ID(), UNIX_TIMESTAMP(NOW(6)), @@global.log_output, @@global.slow_query_log, @@global.general_log, @@global.long_query_time, @@global.performance_schema"
	sqlRate      = mark + "SHOW GLOBAL VARIABLES LIKE 'log_slow_rate_limit'"
	sqlSlowLog   = mark + "SELECT UNIX_TIMESTAMP(start_time), t.* FROM mysql.slow_log t"
	sqlGeneral   = mark + "SELECT UNIX_TIMESTAMP(event_time), t.* FROM mysql.general_log t"
	sqlDigests   = mark + "SELECT COALESCE(SCHEMA_NAME, ''), COALESCE(DIGEST, ''), COALESCE(DIGEST_TEXT, ''), COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_SENT, SUM_ERRORS FROM performance_schema.events_statements_summary_by_digest"
	sqlLost      = mark + "SHOW GLOBAL STATUS LIKE 'Performance_schema_digest_lost'"
	sqlProcesses = mark + "SELECT ID, USER, HOST, COALESCE(DB, ''), TIME, INFO FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Query', 'Execute') AND INFO IS NOT NULL AND ID <> CONNECTION_ID()"
)

// ExplainAccess lists every statement that is sent and the privilege it needs.
func ExplainAccess() []Access {
	return []Access{
		{sqlReadOnly, "none", "the session can't write, whatever is sent"},
		{sqlServer, "none", "version, settings of the logs, the own connection"},
		{sqlRate, "none", "is the slow log sampled?"},
		{sqlSlowLog, "GRANT SELECT ON mysql.slow_log", "the slow log, read once (log_output=TABLE)"},
		{sqlGeneral, "GRANT SELECT ON mysql.general_log", "the general log, read once (log_output=TABLE)"},
		{sqlDigests, "GRANT SELECT ON performance_schema.*", "--live: how often each statement ran, once a second"},
		{sqlLost, "none", "--live: statements that performance_schema did not count"},
		{sqlProcesses, "GRANT PROCESS ON *.* (without it: own connections only)", "--live: texts and clients of what runs now"},
	}
}
