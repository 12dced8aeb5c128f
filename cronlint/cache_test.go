package cronlint

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestNginx(t *testing.T) {
	const good = "proxy_cache_lock on; proxy_cache_use_stale updating error; proxy_cache_background_update on;\n"
	runTextCases(t, []textCase{
		{
			name: "settings inherited from http", file: "nginx.conf",
			text: "http {\n  " + good + "  server {\n    location / {\n      proxy_pass http://a;\n      proxy_cache one;\n    }\n  }\n}\n",
		},
		{
			name: "cache in http, one location switches the lock off", file: "nginx.conf",
			text: "http {\n  proxy_cache one;\n  " + good + "  server {\n    location /a { proxy_pass http://a; }\n" +
				"    location /b { proxy_pass http://a; proxy_cache_lock off; }\n    location /c { proxy_pass http://a; proxy_cache off; }\n  }\n}\n",
			want: []string{"2 HS301 warning"},
		},
		{
			name: "a cache that nothing uses here is judged where it stands", file: "proxy_cache.conf",
			text: "proxy_cache one;\n", want: []string{"1 HS301 warning", "1 HS302 warning"},
		},
		{name: "off", file: "nginx.conf", text: "server {\n  location / {\n    proxy_cache off;\n    proxy_pass http://a;\n  }\n}\n"},
		{
			name: "other families", file: "nginx.conf",
			text: "server {\n  location ~ \\.php$ {\n    fastcgi_pass unix:/run/php.sock;\n    fastcgi_cache php;\n" +
				"    fastcgi_cache_use_stale updating;\n    fastcgi_cache_background_update on;\n  }\n" +
				"  location /u { uwsgi_pass u; uwsgi_cache u; uwsgi_cache_lock on; uwsgi_cache_use_stale error; uwsgi_cache_background_update on; }\n}\n",
			want: []string{"4 HS301 warning", "8 HS302 warning", "8 HS304 error"},
		},
		{
			name: "use_stale off", file: "nginx.conf",
			text: "location / {\n  proxy_cache a;\n  proxy_cache_lock on;\n  proxy_cache_use_stale off;\n}\nserver {\n}\n",
			want: []string{"2 HS302 warning"},
		},
		{
			name: "lock gives up early; defaults are left alone", file: "nginx.conf",
			text: "http {\n" + good + "  server {\n    location /a { proxy_cache a; proxy_pass http://a;\n      proxy_read_timeout 5m;\n    }\n" +
				"    location /b { proxy_cache b; proxy_pass http://b; }\n" +
				"    location /c { proxy_cache c; proxy_pass http://b;\n      proxy_cache_lock on;\n      proxy_cache_lock_timeout 1s;\n    }\n" +
				"    location /d { proxy_cache d; proxy_pass http://b;\n proxy_cache_lock on;\n proxy_read_timeout 30s;\n }\n" +
				"    location /e { proxy_cache e; proxy_pass http://b;\n proxy_read_timeout 5s;\n }\n" +
				"    location /f { proxy_cache f; proxy_pass http://b;\n proxy_cache_lock on;\n proxy_cache_lock_timeout 40s;\n }\n  }\n}\n",
			want: []string{"2 HS305 warning", "10 HS305 note", "13 HS305 note"},
		},
		{
			name: "microcache without a look at the session", file: "nginx.conf",
			text: "server {\n  " + good + "  location / {\n    proxy_pass http://app;\n    proxy_cache m;\n    proxy_cache_valid 200 301 2s;\n  }\n" +
				"  location /static/ { proxy_pass http://app; proxy_cache m; proxy_cache_valid 200 2s; }\n}\n",
			want: []string{"5 HS307 warning"},
		},
		{
			name: "sessions: a mirror, a bypass, a cookie in the key, the application's own headers", file: "nginx.conf",
			text: "server {\n  " + good + "  location / { proxy_pass http://a; proxy_cache m; proxy_cache_valid 200 7d; }\n}\n" +
				"server {\n  " + good + "  proxy_no_cache $cookie_sid;\n  location / { proxy_pass http://a; proxy_cache m; proxy_cache_valid 200 2s; }\n}\n" +
				"server {\n  " + good + "  location / { proxy_pass http://a; proxy_cache m; proxy_cache_valid 2s; proxy_cache_key $uri$cookie_sid; }\n}\n" +
				"server {\n  " + good + "  location / { proxy_pass http://a; proxy_cache m; }\n}\n",
		},
		{
			name: "a snippet out of sight may set it", file: "site.conf",
			text: "server {\n  include snippets/cache-defaults.conf;\n  location / {\n    proxy_pass http://a;\n    proxy_cache one;\n  }\n}\n",
			want: []string{"5 HS301 note", "5 HS302 note"},
		},
		{
			name: "lua, comments, quotes, variables in braces", file: "nginx.conf",
			text: "server {\n  content_by_lua_block {\n    local a = \"}\" -- } }\n    if x then y = {} end\n  }\n" +
				"  # proxy_cache old;\n  set $a \"proxy_cache; {\";\n  location ~ ^/x{2}/ {\n  }\n  location = /y {\n    proxy_pass http://${b}/;\n    proxy_cache \"one\";\n  " + good + "  }\n}\n",
		},
		{
			name: "jinja", file: "site.conf.j2",
			text: "server {\n{% if cache %}\n  location / {\n    proxy_pass http://{{ app }};\n    proxy_cache {{ zone }};\n    proxy_cache_lock on;\n  }\n{% endif %}\n}\n",
			want: []string{"5 HS302 warning"},
		},
	})
}

// TestNginxIncludes holds settings in one file and the cache in another.
func TestNginxIncludes(t *testing.T) {
	write := func(files map[string]string) []string {
		dir := t.TempDir()
		for name, text := range files {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		res, err := Lint(context.Background(), []string{dir}, Options{Now: fixedNow})
		if err != nil {
			t.Fatal(err)
		}
		return brief(res)
	}
	site := "server {\n  location / {\n    proxy_pass http://a;\n    proxy_cache one;\n    include snippets/cache.conf;\n  }\n}\n"
	main := "http {\n  include /etc/nginx/conf.d/*.conf;\n}\n"
	snippet := "proxy_cache_lock on;\nproxy_cache_use_stale updating;\nproxy_cache_background_update on;\n"

	if got := write(map[string]string{"nginx.conf": main, "conf.d/site.conf": site, "snippets/cache.conf": snippet}); len(got) > 0 {
		t.Errorf("settings from an include: got %q", got)
	}
	if got, want := write(map[string]string{"nginx.conf": main, "conf.d/site.conf": site}),
		[]string{"4 HS301 note", "4 HS302 note"}; !slices.Equal(got, want) {
		t.Errorf("include not at hand: got %q, want %q", got, want)
	}
	loop := map[string]string{
		"nginx.conf":    "http {\n  include conf.d/a.conf;\n  server {\n    location / {\n proxy_pass http://a;\n proxy_cache one;\n }\n }\n}\n",
		"conf.d/a.conf": "include conf.d/b.conf;\nproxy_cache_lock on;\n", "conf.d/b.conf": "include conf.d/a.conf;\nproxy_cache_use_stale updating;\n",
	}
	if got, want := write(loop), []string{"6 HS303 note"}; !slices.Equal(got, want) {
		t.Errorf("includes in a circle: got %q, want %q", got, want)
	}
}

func TestCacheFormats(t *testing.T) {
	runTextCases(t, []textCase{
		{
			name: "varnish", file: "default.vcl",
			text: "vcl 4.1;\n# set beresp.grace = 0s;\nsub vcl_backend_response {\n  // \"{\"\n  set beresp.grace = 0s;\n}\n",
			want: []string{"5 HS310 warning"},
		},
		{
			name: "varnish: conditional, moot", file: "default.vcl",
			text: "vcl 4.1;\nsub vcl_backend_response {\n  set beresp.grace = 0s;\n  if (bereq.url ~ \"x\") {\n    set beresp.ttl = 0s;\n" +
				"    set beresp.grace = 0s;\n    return (deliver);\n  }\n  set beresp.grace = 1h;\n" +
				"  if (beresp.status >= 500) {\n    set beresp.grace = 0s;\n  }\n}\n",
			want: []string{"11 HS310 note"},
		},
		{
			name: "laravel on one server", file: "app/.env",
			text: "CACHE_STORE=redis\nQUEUE_CONNECTION=redis\nSESSION_DRIVER=redis\nREDIS_HOST=10.0.0.5\n",
			want: []string{"1 HS306 warning"},
		},
		{name: "laravel: sessions only", file: ".env", text: "CACHE_DRIVER=redis\nSESSION_DRIVER=redis\n", want: []string{"1 HS306 note"}},
		{name: "laravel: an example", file: ".env.example", text: "CACHE_STORE=redis\nQUEUE_CONNECTION=redis\n", want: []string{"1 HS306 note"}},
		{name: "laravel: other stores", file: ".env", text: "CACHE_STORE=redis\nQUEUE_CONNECTION=sqs\nSESSION_DRIVER=database\nREDIS_HOST=a\n"},
		{
			name: "urls, one database", file: "prod.env",
			text: "export CACHE_URL=\"redis://r.internal:6379/0\"\nCELERY_BROKER_URL=redis://:secret@r.internal/0\n",
			want: []string{"1 HS306 warning"},
		},
		{
			name: "urls, two servers", file: "prod.env",
			text: "CACHE_URL=redis://cache:6379/0\nCELERY_BROKER_URL=redis://broker:6379/0\n# CACHE_URL=redis://broker:6379/0\n",
		},
		{
			name: "spring", file: "application.yml",
			text: "spring:\n  cache:\n    type: redis\n  session:\n    store-type: redis\n  data:\n    redis:\n      host: r\n",
			want: []string{"3 HS306 note"},
		},
		{
			name: "apache", file: ".htaccess",
			text: "Header set Cache-Control \"max-age=300, public\"\n# Header set Cache-Control \"max-age=300\"\n" +
				"Header set Cache-Control \"max-age=31536000, immutable\"\nHeader set Cache-Control \"private, max-age=60\"\n",
			want: []string{"1 HS308 note"},
		},
		{
			name: "vercel", file: "vercel.json",
			text: "{\"headers\": [{\"source\": \"/\", \"headers\": [{\"key\": \"Cache-Control\",\n \"value\": \"s-maxage=60\"}]}],\n" +
				" \"x\": {\"key\": \"Cache-Control\", \"value\": \"s-maxage=60, stale-while-revalidate=300\"}}\n",
			want: []string{"2 HS308 note"},
		},
		{
			name: "ttl constants", file: "a.rb", optIn: "code",
			text: "Rails.cache.fetch('a', expires_in: 1.hour) { a }\nRails.cache.fetch('b', expires_in: 1.hour) { b }\n" +
				"Rails.cache.fetch('c', expires_in: 1.hour, race_condition_ttl: 5) { c }\nRails.cache.fetch('d', expires_in: 60.minutes) { d }\n",
			want: []string{"1 HS320 note"},
		},
		{
			name: "ttl of a whole cache", file: "settings.py", optIn: "code",
			text: "CACHES = {\n    'default': {\n        'BACKEND': 'redis',\n        'TIMEOUT': 600,\n    }\n}\n",
			want: []string{"4 HS320 note"},
		},
		{
			name: "ttl of a whole cache, spring", file: "application.properties", optIn: "code",
			text: "spring.cache.type=redis\nspring.cache.redis.time-to-live=10m\n",
			want: []string{"2 HS320 note"},
		},
		{
			name: "ttl of a whole cache, rails", file: "production.rb", optIn: "code",
			text: "config.cache_store = :redis_cache_store, { url: ENV['REDIS'], expires_in: 90.minutes }\n",
			want: []string{"1 HS320 note"},
		},
		{
			name: "ttl: two places only", file: "a.php", optIn: "code",
			text: "<?php\nCache::remember('a', 3600, fn() => 1);\nCache::put('b', 2, 3600);\nCache::put('c', 2, now()->addMinutes(5));\n",
		},
		{
			name: "ttl: go, js", file: "a.go", optIn: "code",
			text: "package a\nfunc f() {\n rdb.Set(ctx, \"a\", v, time.Hour)\n rdb.Set(ctx, \"b\", v, 1*time.Hour)\n rdb.Set(ctx, \"c\", v, time.Hour)\n}\n",
			want: []string{"3 HS320 note"},
		},
	})
}
