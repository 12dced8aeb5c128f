# Thin targets; the work is in the commands themselves.
TOOL = go tool -modfile=.ci/tools/go.mod
FUZZTIME ?= 10s

.PHONY: build test lint fmt fuzz bench golden docs demo eval

build:
	go build -trimpath -o herdscan .

# Installs the servers, the browser, and the languages of the snippets, where it
# can (Debian, as root); the tests start instances of their own on free loopback
# ports.
test:
	.ci/need redis-server mariadbd memcached chromium python3 php node javac ruby
	go test -race -shuffle=on ./...
	go test -run TestSampleAgrees ./ttlhist # of 5 million keys: too many for the race detector

lint:
	@test -z "$$($(TOOL) gofumpt -l .)" || { $(TOOL) gofumpt -l .; echo "run make fmt"; exit 1; }
	go vet ./...
	$(TOOL) staticcheck ./...

fmt:
	$(TOOL) gofumpt -w .

fuzz:
	.ci/fuzz $(FUZZTIME)

bench:
	.ci/need redis-server mariadbd memcached
	go test -run '^$$' -bench . -benchtime 1x ./...

golden:
	go test ./report ./cmd -update

docs:
	go run ./docs/gen

demo:
	go run . demo

eval:
	go run ./comb/eval -n 20 -seed 5001
