package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	settingsFile = ".herdscan.yaml"
	envPrefix    = "HERDSCAN_"
)

// secretEnv are variables that carry a secret and are read where it is
// needed; they are no settings.
func secretEnv(name string) bool {
	switch name {
	case "HERDSCAN_DSN", "HERDSCAN_NOTIFY", "HERDSCAN_COORDINATE":
		return true
	}
	return false
}

// applySettings gives each flag that the command line does not set its value
// from the environment (HERDSCAN_FAIL_ON, or HERDSCAN_TTL_FAIL_ON for one
// command), else from the settings file ("fail-on:" at the top, or below
// "ttl:" for one command).
func applySettings(c *cobra.Command, e Env) error {
	fromFile, path, err := loadFile(c)
	if err != nil {
		return err
	}
	if err := checkKeys(c.Root(), fromFile, path); err != nil {
		return err
	}
	fromEnv, err := loadEnv(e)
	if err != nil {
		return err
	}
	var errs []error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "config" || f.Name == "help" || typedOnly(f.Name) {
			return
		}
		for _, src := range []struct {
			k    *koanf.Koanf
			name string
		}{{fromEnv, "environment"}, {fromFile, path}} {
			if ok, err := setFrom(c, f, src.k); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", src.name, f.Name, err))
			} else if ok {
				return
			}
		}
	})
	return errors.Join(errs...)
}

// typedOnly are flags that write to the user's files or servers: they count
// only where somebody types them.
func typedOnly(flag string) bool {
	switch flag {
	case "fix", "write-baseline", "yes", "resume", "undo":
		return true
	}
	return false
}

func setFrom(c *cobra.Command, f *pflag.Flag, k *koanf.Koanf) (bool, error) {
	for _, key := range []string{c.Name() + "." + f.Name, f.Name} {
		if !k.Exists(key) {
			continue
		}
		values := k.Strings(key)
		if len(values) == 0 {
			values = []string{k.String(key)}
		}
		for _, v := range values {
			if err := c.Flags().Set(f.Name, v); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	return false, nil
}

func loadFile(c *cobra.Command) (*koanf.Koanf, string, error) {
	k := koanf.New(".")
	path, _ := c.Flags().GetString("config")
	named := path != ""
	if !named {
		path = settingsFile
	}
	err := k.Load(file.Provider(path), yaml.Parser())
	switch {
	case err == nil:
		return k, path, nil
	case !named && errors.Is(err, fs.ErrNotExist):
		return koanf.New("."), path, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, path, fmt.Errorf("settings file %s: no such file", path)
	default:
		return nil, path, fmt.Errorf("settings file %s: %w", path, err)
	}
}

func loadEnv(e Env) (*koanf.Koanf, error) {
	k := koanf.New(".")
	err := k.Load(env.Provider(".", env.Opt{
		Prefix: envPrefix,
		EnvironFunc: func() []string {
			var out []string
			for _, kv := range os.Environ() {
				name, _, _ := strings.Cut(kv, "=")
				value := e.Getenv(name) // empty counts as not set
				if strings.HasPrefix(name, envPrefix) && !secretEnv(name) && value != "" {
					out = append(out, name+"="+value)
				}
			}
			return out
		},
		TransformFunc: func(name, value string) (string, any) {
			return envKey(strings.TrimPrefix(name, envPrefix)), value
		},
	}), nil)
	return k, err
}

// envKey turns FAIL_ON into fail-on, and TTL_FAIL_ON into ttl.fail-on.
func envKey(name string) string {
	name = strings.ToLower(name)
	for _, command := range []string{"ttl", "events", "querylog", "lint", "report", "plan", "watch", "spread", "simulate"} {
		if rest, ok := strings.CutPrefix(name, command+"_"); ok {
			return command + "." + strings.ReplaceAll(rest, "_", "-")
		}
	}
	return strings.ReplaceAll(name, "_", "-")
}

// checkKeys refuses a settings file with a key that no command has, so that
// a typing error is not silently without effect.
func checkKeys(root *cobra.Command, k *koanf.Koanf, path string) error {
	for _, key := range k.Keys() {
		name, sub, nested := strings.Cut(key, ".")
		if c, _, err := root.Find([]string{name}); err == nil && c != root && nested {
			if flagOf(c, sub) {
				continue
			}
		} else if !nested && anyFlag(root, name) {
			continue
		}
		return fmt.Errorf("settings file %s: there is no setting %q (settings are named like the flags: see --help of the command)", path, key)
	}
	return nil
}

func flagOf(c *cobra.Command, name string) bool {
	return c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil
}

func anyFlag(root *cobra.Command, name string) bool {
	for _, c := range root.Commands() {
		if flagOf(c, name) {
			return true
		}
	}
	return false
}
