# agntchat. `make run` starts everything, `make test` runs every test, `make help` lists the rest.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
# One set of flags everywhere, so that what one step compiles the next one finds; only the race detector needs cgo.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
ADDR    ?= 127.0.0.1:4000
DATA    ?= .data
PKG     ?= ./...
RUN     ?= .
SOAK    ?= 10m
STAMPS  := .cache/stamps
# Tests that kill programs built without the race detector: test-pooler runs them.
KILLS   := WhenAnythingIsKilled|WhenTheRelayIsKilled|FollowerSurvivesKill|KilledAnywhere|KilledWhileThePassphrase

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-zA-Z/_-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

## ---- run -------------------------------------------------------------------

.PHONY: run
run: deps/run build ## build and start everything: server, Postgres, web client, demo agent
	@exec bin/agntchat dev --addr $(ADDR) --data-dir $(DATA)

.PHONY: build
build: web bin ## build the web client and both programs into bin/

.PHONY: bin
bin:
	@mkdir -p bin
	@echo "programs: building (the first time takes minutes)"
	@go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/agntchat ./cmd/agnt

.PHONY: web
web: $(STAMPS)/web-build

WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/e2e/*' 2>/dev/null)
$(STAMPS)/web-build: $(STAMPS)/web-deps $(WEB_SOURCES)
	@echo "web: building the client"
	@npm --prefix web run --silent build -- --logLevel warn
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/web-deps: web/package.json web/package-lock.json
	@echo "web: installing npm packages"
	@npm ci --prefix web --no-audit --no-fund --loglevel=error
	@mkdir -p $(STAMPS) && touch $@

## ---- what this machine needs -----------------------------------------------

.PHONY: deps/run deps
deps/run:
	@deploy/deps.sh run
deps: ## install what the tests need (Debian packages, npm packages)
	@deploy/deps.sh test
	@$(MAKE) $(STAMPS)/web-deps $(STAMPS)/phoenix-deps $(STAMPS)/cli-deps $(STAMPS)/letter-deps $(STAMPS)/integration-deps

$(STAMPS)/phoenix-deps: interop/phoenix/package.json interop/phoenix/package-lock.json
	@echo "interop: installing the phoenix client"
	@npm ci --prefix interop/phoenix --no-audit --no-fund --loglevel=error
	@mkdir -p $(STAMPS) && touch $@
$(STAMPS)/cli-deps: interop/clis/package.json interop/clis/package-lock.json
	@echo "interop: installing Claude Code and Codex"
	@npm ci --prefix interop/clis --no-audit --no-fund --loglevel=error
	@mkdir -p $(STAMPS) && touch $@
$(STAMPS)/letter-deps: interop/letters/package.json interop/letters/package-lock.json
	@echo "interop: installing vodozemac"
	@npm ci --prefix interop/letters --no-audit --no-fund --loglevel=error
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/integration-deps: integrations/package.json integrations/package-lock.json
	@echo "integrations: installing pi and opencode"
	@npm ci --prefix integrations --no-audit --no-fund --loglevel=error
	@mkdir -p $(STAMPS) && touch $@

## ---- tests -----------------------------------------------------------------

.PHONY: test
test: deps build test/go test/web test/integrations test/browser ## run every test

.PHONY: test/go test/race test/web test/integrations test/browser test-pooler test/fuzz
test/go:
	@go test $(PKG) -run '$(RUN)'
test/race: ## Go tests with the race detector; packages with a provider's SDK or WebAssembly without it
	@CGO_ENABLED=1 go test -race -skip '$(KILLS)' -timeout 20m $$(go run ./tools/packages -race)
	@go test -timeout 20m $$(go run ./tools/packages -plain)
test/web: $(STAMPS)/web-deps ## unit tests of the web client
	@npm --prefix web run --silent test
test/integrations: bin $(STAMPS)/integration-deps ## letters in the real pi and opencode
	@npm --prefix integrations run --silent test
test/browser: build $(STAMPS)/cli-deps ## the walks through a real browser: mocked server, then the real one with real agent CLIs
	@npm --prefix web run --silent e2e
	@npm --prefix web run --silent e2e:live
test-pooler: ## the Go suite through pgbouncer in transaction mode, then in pgx exec mode
	@AGNTCHAT_TEST_PG=pooler go test -count=1 -timeout 15m $$(go run ./tools/packages -db)
	@AGNTCHAT_TEST_PG=exec go test -count=1 -timeout 15m $$(go run ./tools/packages -db | grep -v internal/app)
test/fuzz: ## every fuzz target for 6 s
	@tools/fuzz.sh 6s

.PHONY: soak
soak: ## the long form of the kill tests (SOAK=10m, AGNTCHAT_KILL_SEED repeats one)
	@AGNTCHAT_KILL_MESSAGES=$${AGNTCHAT_KILL_MESSAGES:-5000} AGNTCHAT_KILL_TASKS=$${AGNTCHAT_KILL_TASKS:-1000} AGNTCHAT_KILL_FOR=$(SOAK) go test -count=1 -timeout 2h -v -run 'NothingIsLost|EveryTaskEndsOnce' ./internal/app

.PHONY: check
check: deps fmt/check vet arch gen/check build test/race test-pooler lint web/check integrations/check test/browser test/fuzz ## everything CI runs

## ---- code ------------------------------------------------------------------

.PHONY: fmt fmt/check vet arch lint gen gen/check web/check integrations/check
fmt: ## format Go and web sources
	@gofmt -w $$(git ls-files '*.go')
	@npm --prefix web run --silent format
	@npm --prefix integrations run --silent format
fmt/check:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not formatted (make fmt):"; echo "$$out"; exit 1; fi
vet:
	@go vet ./...
	@GOOS=windows go vet ./cmd/agnt ./internal/letterbox/lockfile ./internal/letterbox/follow ./internal/letterbox/store ./internal/letterbox/spool # the agent's side builds for Windows too
arch: ## the floors (ARCHITECTURE.md)
	@go test -count=1 .
lint: .cache/bin/golangci-lint ## golangci-lint
	@.cache/bin/golangci-lint run
.cache/bin/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	@echo "lint: building golangci-lint"
	@mkdir -p .cache/bin && cd tools/lint && go build -o ../../.cache/bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
gen: ## write generated files
	@go run ./tools/wiregen
gen/check:
	@go run ./tools/wiregen -check
web/check: $(STAMPS)/web-deps ## format, types and unit tests of the web client
	@npm --prefix web run --silent check
integrations/check: bin $(STAMPS)/integration-deps ## format, types and tests of the integrations
	@npm --prefix integrations run --silent check

.PHONY: bench
bench: build ## benchmarks: medians of three interleaved rounds, ratios, server CPU per operation
	@go run ./bench

.PHONY: clean
clean: ## remove built files; never the data folder
	@rm -rf bin .cache web/dist/assets web/dist/index.html
