package cronlint

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS900 = rule.Rule{
	ID: "HS900", Name: "unused-suppression", Severity: rule.Warning,
	Title: "A herdscan comment has no effect",
	Why: "A comment that suppresses nothing hides the next real problem on that line, " +
		"and a pin or a window that is not understood does not protect the job it was written for.",
	Decided: "Reported when no problem matched the comment's rules in this run, when no schedule " +
		"stands where an annotation points to, when a snooze has run out, or when the comment can't be " +
		"understood. Comments for rules that are switched off in this run are left alone.",
	Before: "# herdscan: ignore[HS301] the cache is cold once a year\n" +
		"proxy_cache_path /var/cache keys_zone=a:10m;\n",
	After: "proxy_cache_path /var/cache keys_zone=a:10m;\n",
}

var ruleHS901 = rule.Rule{
	ID: "HS901", Name: "unresolved-template", Severity: rule.Note,
	Title: "A template can't be checked before it is rendered",
	Why: "The values that decide come from elsewhere. Nothing is wrong with that, but nothing was " +
		"checked here either.",
	Decided: "Reported once a file when a file that belongs to a known format holds template " +
		"expressions that keep it from being parsed, or a cron task of Ansible takes its time from a variable that " +
		"neither the defaults nor the vars of its role set to a literal. Render it (helm template, jinja) and lint the result, " +
		"or lint the file of values.",
	Before: "apiVersion: batch/v1\nkind: CronJob\nspec:\n" +
		"  {{- with .Values.cron }}\n  schedule: {{ .schedule }}\n  {{- end }}\n",
	After: "apiVersion: batch/v1\nkind: CronJob\nspec:\n  schedule: \"17 3 * * *\"\n  startingDeadlineSeconds: 600\n",
}

// metaChecks are the rules about the lint itself. Lint reports them on its
// own, so they have nothing to run.
func metaChecks() []lint.Check {
	return []lint.Check{
		{Rule: &ruleHS900, ExampleFile: "nginx.conf"},
		{Rule: &ruleHS901, ExampleFile: "templates/cronjob.yaml"},
	}
}
