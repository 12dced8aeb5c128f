package querylog

import "strings"

// isFollower recognises shapes that only accompany others: transaction
// control, session settings, probes of a connection. They rise with every
// herd and are never its cause.
func isFollower(shape string) bool {
	switch shape {
	case "", "begin", "start transaction", "commit", "rollback", "commit and chain", "select ?", "select ? as ?",
		"select ? from dual", "do ?", "ping", "select now()", "select version()", "select database()", "select connection_id()",
		"select last_insert_id()", "select found_rows()", "select row_count()", "select user()", "select current_user()":
		return true
	}
	verb, rest, _ := strings.Cut(shape, " ")
	switch verb {
	case "set", "use", "rollback", "savepoint", "release", "begin", "start", "commit", "xa", "deallocate", "prepare", "administrator":
		return true
	case "show":
		return isSessionShow(rest)
	case "select":
		return strings.HasPrefix(rest, "@@") && !strings.Contains(rest, " from ")
	}
	return false
}

// isSessionShow recognises what drivers ask on connect.
func isSessionShow(rest string) bool {
	return strings.HasPrefix(rest, "warnings") || strings.HasPrefix(rest, "variables") || strings.HasPrefix(rest, "session variables") ||
		strings.HasPrefix(rest, "collation") || strings.HasPrefix(rest, "character set") || strings.HasPrefix(rest, "session status")
}

// isMonitoring recognises what monitoring asks of a server.
func isMonitoring(shape string) bool {
	switch {
	case strings.HasPrefix(shape, "show "):
		return strings.Contains(shape, "status") || strings.Contains(shape, "variables") || strings.Contains(shape, "processlist") ||
			strings.Contains(shape, "engine ") || strings.Contains(shape, "engines") || strings.Contains(shape, "binary logs") ||
			strings.Contains(shape, "master") || strings.Contains(shape, "slave") || strings.Contains(shape, "replica") ||
			strings.Contains(shape, "databases") || strings.Contains(shape, "grants")
	case strings.Contains(shape, "information_schema."), strings.Contains(shape, "performance_schema."),
		strings.Contains(shape, "from sys."), strings.Contains(shape, "mysql.rds_"):
		return true
	}
	return false
}

// isMaintenance recognises the server's own housekeeping, as at the hourly rotation of a hosted log.
func isMaintenance(shape string) bool {
	return strings.HasPrefix(shape, "flush ") || strings.Contains(shape, "mysql.rds_heartbeat") || strings.Contains(shape, "rds_replication_status")
}
