package cronlint

import (
	"context"
	"slices"
	"testing"

	"github.com/herdscan/herdscan/cronlint/lint"
)

const roleTask = "---\n- name: renew\n  cron:\n    name: renew\n    minute: \"{{ renew_minute }}\"\n    hour: '{{ renew_hour | default(\"4\", true) | int }}'\n    job: /opt/renew\n"

// The variables of a cron task are looked up in its role.
func TestAnsibleRoles(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string // schedules, as "file raw command"
		found []string // "line rule severity"
	}{
		{
			name:  "nothing known",
			files: map[string]string{"roles/a/tasks/main.yml": roleTask},
			found: []string{"5 HS901 note"},
		},
		{
			name:  "defaults of the role",
			files: map[string]string{"roles/a/tasks/sub/renew.yml": roleTask, "roles/a/defaults/main.yml": "renew_minute: 30\nrenew_hour: 3\n"},
			want:  []string{"roles/a/defaults/main.yml 30 3 * * * /opt/renew"}, found: []string{"1 HS121 warning"},
		},
		{
			name: "vars before defaults, a default in the expression",
			files: map[string]string{
				"roles/a/tasks/main.yml": roleTask, "roles/a/defaults/main.yml": "renew_minute: 30\n", "roles/a/vars/main.yml": "# cron\nrenew_minute: '17'\n",
			},
			want: []string{"roles/a/vars/main.yml 17 4 * * * /opt/renew"}, found: []string{"2 HS121 warning"},
		},
		{
			name:  "another role",
			files: map[string]string{"roles/a/tasks/main.yml": roleTask, "roles/b/defaults/main.yml": "renew_minute: 30\n"},
			found: []string{"5 HS901 note"},
		},
		{
			name:  "a variable of a variable",
			files: map[string]string{"roles/a/tasks/main.yml": roleTask, "roles/a/defaults/main.yml": "renew_minute: \"{{ other_minute }}\"\nrenew_hour: 3\n"},
			found: []string{"5 HS901 note"},
		},
		{
			name: "random by the machine",
			files: map[string]string{
				"roles/a/tasks/main.yml": roleTask, "roles/a/defaults/main.yml": "renew_minute: \"{{ 60 | random(seed=inventory_hostname) }}\"\nrenew_hour: 3\n",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree(t, tt.files)
			res, err := Lint(context.Background(), []string{"."}, lint.Options{Now: fixedNow})
			if err != nil || len(res.Errors) > 0 {
				t.Fatal(err, res.Errors)
			}
			var got []string
			for _, e := range res.Entries {
				got = append(got, e.File.Path+" "+e.Raw+" "+e.Command)
			}
			if !slices.Equal(got, tt.want) || !slices.Equal(brief(res), tt.found) {
				t.Errorf("jobs %q, found %q", got, brief(res))
			}
		})
	}
}

// The task of the corpus with the defaults of its role.
func TestCorpusAnsibleRole(t *testing.T) {
	paths := []string{corpus(t, "ansible/certbot-defaults.yml"), corpus(t, "ansible/certbot-renew-cron.yml")}
	res, err := Lint(context.Background(), paths, lint.Options{Now: fixedNow})
	if err != nil {
		t.Fatal(err)
	}
	if got := found(t, res); !slices.Equal(got, []string{"6 HS121 warning"}) || len(res.Entries) != 1 ||
		res.Entries[0].Raw != "30 3 * * *" || res.Entries[0].Command != "{{ certbot_script }} renew {{ certbot_auto_renew_options }}" {
		t.Errorf("%q, %+v", got, res.Entries)
	}
}
