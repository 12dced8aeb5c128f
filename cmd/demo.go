package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/fixtures"
)

func newDemo(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Show what herdscan finds, on built-in data",
		Long: "Start a small Redis inside this process, fill it with a shop's cache an hour after\na deploy, write query logs, a list of keys and a folder of crontabs, and run the real\ncommands on them.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runDemo(c.Context(), env) },
	}
}

func runDemo(ctx context.Context, env Env) error {
	server, err := demoRedis(env.Now())
	if err != nil {
		return err
	}
	defer server.Close()
	dir, err := os.MkdirTemp("", "herdscan-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log, err := demoLog(dir)
	if err != nil {
		return err
	}
	deploy, err := demoDeploy(dir)
	if err != nil {
		return err
	}
	incident, err := demoIncident(dir)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"ttl", "redis://" + server.Addr() + "/0", "--target", "50"},
		{"events", log},
		{"lint", deploy},
		append([]string{"report", "--tz", "UTC"}, incident...),
	} {
		fmt.Fprintf(env.Stdout, "$ herdscan %s\n", strings.Join(args, " "))
		sub := env
		sub.Args = append(args, "--fail-on", "never")
		if code := Run(ctx, sub); code != exitClean {
			return &exitCode{code}
		}
		fmt.Fprintln(env.Stdout)
	}
	return nil
}

// demoRedis starts a Redis on a free loopback port and fills it.
func demoRedis(now time.Time) (*miniredis.Miniredis, error) {
	server, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	server.SetTime(now)
	for _, k := range fixtures.ShopKeys() {
		if err := server.Set(k.Name, "x"); err != nil {
			server.Close()
			return nil, err
		}
		if k.Left > 0 {
			server.SetTTL(k.Name, k.Left)
		}
	}
	return server, nil
}

// demoLog writes the times of one query, as "cut" would take them from a log.
func demoLog(dir string) (string, error) {
	start := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	for _, t := range fixtures.HourlyHerd(start) {
		b.WriteString(t.Format("2006-01-02T15:04:05.000Z\n"))
	}
	path := filepath.Join(dir, "query-times.txt")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// demoDeploy writes a folder of schedules and settings.
func demoDeploy(dir string) (string, error) {
	path := filepath.Join(dir, "deploy")
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", err
	}
	for _, f := range fixtures.DeployFiles() {
		if err := os.WriteFile(filepath.Join(path, f.Name), []byte(f.Text), 0o600); err != nil {
			return "", err
		}
	}
	return path, nil
}

// demoIncident writes what a comb on the hour leaves behind: a slow log of 14
// hours, the cache at its end, and a crontab that has nothing to do with it.
func demoIncident(dir string) (args []string, err error) {
	i := fixtures.DefaultIncident()
	i.From, i.Length, i.Deploy, i.Look = i.From.Add(9*time.Hour), 14*time.Hour, time.Hour+4*time.Second, 14*time.Hour
	i.Keys, i.Hot, i.Other = 800, 150, 0.2
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"slow.log", i.WriteLog},
		{"keys.tsv", i.WriteKeys},
		{"crontab", func(w io.Writer) error { _, err := io.WriteString(w, fixtures.IncidentCrontab); return err }},
	} {
		path := filepath.Join(dir, f.name)
		if err := writeFile(path, f.write); err != nil {
			return nil, err
		}
		args = append(args, path)
	}
	return append(args, "--event", "deploy@"+i.From.Add(i.Deploy).Format(time.RFC3339)), nil
}
