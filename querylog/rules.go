package querylog

import "github.com/herdscan/herdscan/comb/rule"

// Rules returns the documentation of what Analyse can find, HS501 to HS507.
func Rules() []rule.Rule {
	return []rule.Rule{
		{
			ID: "HS501", Name: "query-comb", Severity: rule.Warning,
			Title: "one query, or a family of queries, comes as a comb",
			Why: "The same statements arrive in narrow teeth, one period apart. Between the teeth the database idles; in a tooth it gets " +
				"minutes of work within a second. Connections queue up, slow statements hold locks, and everybody else waits. " +
				"Caches with one TTL for all keys, crontabs that all say minute 0 and jobs on timers make such combs.",
			Decided: "The starts of each statement shape are counted in bins of 125 ms (1 s if the log's stamps are whole seconds) and given to the comb " +
				"detector, which bounds the probability of a false alarm for all shapes together. Shapes with one period and phase are one finding, and so are values " +
				"that were filled together with one TTL and drift apart because some take longer to rebuild. " +
				"BEGIN, COMMIT, SET, pings and connects rise with every herd: they are listed, never blamed. " +
				"Severity is about harm: a tooth of fewer than 7 statements, one job's own batch over one connection, one refill a process, " +
				"and what the server, its host or monitoring does are notes. Causes are weighed from the log alone and each says what would refute it.",
			Before: "10:05:00.1  SELECT ... FROM price WHERE sku = 'A1'   402 statements in 1.2 s\n" +
				"11:05:01.3  SELECT ... FROM price WHERE sku = 'A1'   398 statements in 1.2 s\n" +
				"12:05:02.5  SELECT ... FROM price WHERE sku = 'B7'   411 statements in 1.2 s",
			After: "the same statements at 7 a minute, because the keys are written with a TTL of 3060 to 4140 s (random) instead of 3600 s",
			See:   []string{"HS401", "HS502", "HS503", "HS504", "HS110"},
		},
		{
			ID: "HS502", Name: "query-stampede", Severity: rule.Warning,
			Title: "many copies of one identical statement at once",
			Why: "A cached value has expired, and every request that wants it asks the database for the same answer at the same time. " +
				"All copies but one are wasted, and the slower the statement, the more of them pile up. Jitter does not help one hot key: " +
				"only letting one caller refill does.",
			Decided: "Statements are told apart by their shape and all their literals; comments such as trace ids do not count. Copies that start " +
				"while another runs, or within 250 ms (1 s with whole-second stamps), are one burst. It is told from 20 copies over 5 connections or " +
				"more, at 5 times the rate of the shape around it, also when it happens once. It is a warning from 50 copies, 30 of them at once or within " +
				"a second, and more than 3 a client. Copies at once are counted from start and duration where the log has durations. Copies that make " +
				"the teeth of a comb or a one-off tooth are told there; the stampede then is a note that names it (part_of).",
			Before: "14:00:00.2  SELECT * FROM fx_rates WHERE base = 'EUR'   (337 in flight from 8 clients)",
			After:  "14:00:00.2  SELECT * FROM fx_rates WHERE base = 'EUR'   (1: single-flight in each process, or a lock)",
			See:    []string{"HS501", "HS504"},
		},
		{
			ID: "HS503", Name: "job-per-replica", Severity: rule.Warning,
			Title: "every replica runs the same job",
			Why: "A job was scheduled inside the application, so each replica runs it: the work is done as many times as there are replicas, at the " +
				"same moment, and it grows with every scale-up. Jobs that write also race with each other.",
			Decided: "In most teeth of a comb at least two clients take part and either the texts come from all of them equally often, or, on the wall " +
				"clock, every client sends the same number of statements, nearer to each other than a balancer's chance would bring them. One read a client at a TTL plus a rebuild is single " +
				"flight working as it should, and not this. Behind a proxy all clients look like one: then nothing is said.",
			Before: "02:00:00  app-1  SELECT ... FROM orders WHERE id BETWEEN 1 AND 500\n" +
				"02:00:00  app-2  SELECT ... FROM orders WHERE id BETWEEN 1 AND 500\n" +
				"02:00:00  app-3  SELECT ... FROM orders WHERE id BETWEEN 1 AND 500",
			After: "02:00:00  app-2  SELECT ... FROM orders WHERE id BETWEEN 1 AND 500   (claimed with SET job:reconcile app-2 NX EX 60)",
			See:   []string{"HS501", "HS110"},
		},
		{
			ID: "HS504", Name: "one-off-tooth", Severity: rule.Warning,
			Title: "one burst of statements beyond all others",
			Why: "A deploy, a flush or a restart emptied the cache and everything is asked for at once. If all keys are then written with one TTL, " +
				"this is the first tooth of a comb to come.",
			Decided: "A burst of one statement beyond the tail of all its others (generalised Pareto), or the moment at which the " +
				"largest bursts of several reads coincide, that belongs to no comb. " +
				"The statements that rose at least fourfold are its members. One batch over one connection, fewer than 50 of one statement, and fewer than 20 within a second are notes. " +
				"What follows an outage is demand that waited, and is no sign of a cold cache.",
			Before: "10:31:07  144 statements of 4 shapes within 1.4 s, once (mean: 9 a second)",
			After:  "the cache is warmed at a limited rate before it takes traffic",
			See:    []string{"HS501", "HS502"},
		},
		{
			ID: "HS505", Name: "retry-storm", Severity: rule.Warning,
			Title: "retries in step after an outage",
			Why: "Clients that failed together try again together. Each wave hits a server that is just coming back, some fail again, and the next wave " +
				"is as large: an outage of seconds becomes one of minutes.",
			Decided: "After a silence of the whole log, a start of the server, or a burst of errors and refused connections, a statement comes in at least " +
				"three waves that shrink, a constant or a doubling pause apart, far above its rate before. Without a visible outage a comb counts " +
				"as a storm only if it is local in time, its pause is at most 3 minutes, and its statements repeat or its waves shrink.",
			Before: "10:00:20  240 attempts\n10:00:26  200 attempts\n10:00:32  160 attempts",
			After:  "attempts spread over the pause: sleep(random(0, min(cap, base * 2^attempt)))",
			See:    []string{"HS501", "HS201"},
		},
		{
			ID: "HS506", Name: "missing-row", Severity: rule.Warning,
			Title: "the same missing row is asked for again and again",
			Why: "The cache stores what exists. What does not exist is asked of the database each time: a deleted product that a crawler knows, " +
				"an id from an old mail, or someone who guesses ids on purpose.",
			Decided: "Identical reads by key with Rows_sent 0, at least 10 of each text, spread over at least half of the log and steady as independent " +
				"readers are, not in bursts. It is a warning from one repeated miss a second, or from a tenth of all statements. A general log has no " +
				"row counts: there it is only said which slow log would tell.",
			Before: "SELECT ... FROM products WHERE id = 9000100   -- Rows_sent: 0, 1,120 times in 5 minutes",
			After:  "the absence is cached for about a minute (random): 6 times in 5 minutes",
			See:    []string{"HS502"},
		},
		{
			ID: "HS507", Name: "sampled-log", Severity: rule.Note,
			Title: "the log is sampled or has a threshold, so its counts mislead",
			Why: "long_query_time hides fast statements: a stampede of 2 ms lookups is invisible until the server is saturated, and then everything " +
				"looks slow. A rate limit logs one of many. Throttling sums many statements into one line.",
			Decided: "From the markers of Percona Server (Log_slow_rate_limit), from the shortest Query_time in the log (100 ms or more; of statements that " +
				"read no rows where the others may be there for log_queries_not_using_indexes), and from lines about suppressed statements. Rotated files with " +
				"one threshold are told once. MariaDB samples without any marker: give --sample-rate. Where one of N was logged, the counts of findings are " +
				"multiplied by the N of their own time and carry their standard error; statements of 10 s and more are always logged and stand for themselves; " +
				"clients and texts are lower bounds.",
			Before: "# Log_slow_rate_type: query  Log_slow_rate_limit: 100",
			After:  "SET GLOBAL long_query_time = 0; SET GLOBAL log_slow_rate_limit = 1; for the minutes of the measurement",
			See:    []string{"HS501", "HS502"},
		},
	}
}
