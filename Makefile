# The tasks of a developer. A newcomer needs make, a stable Rust toolchain and the C compiler that it links with, nothing else.

CARGO  ?= cargo
CONFIG ?= conf/cluster.json
ALGORITHM ?=
SEEDS  ?= 1000
STATES ?= 1000000
MINUTES ?= 10
MUTANTS ?=
PREFIX  ?= /usr/local
DESTDIR ?=

# The output of `electd --version`: the version, and the commit if git knows it.
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
COMMIT  := $(shell git rev-parse --short HEAD 2>/dev/null)
build install: export ELECTD_VERSION := $(VERSION)$(if $(COMMIT), ($(COMMIT)))

.DEFAULT_GOAL := help
# The folders of `make install`.
BIN  := $(DESTDIR)$(PREFIX)/bin
SHARE := $(DESTDIR)$(PREFIX)/share
DOC   := $(SHARE)/doc/electd
UNITS := $(DESTDIR)$(PREFIX)/lib/systemd/system
USERS := $(DESTDIR)$(PREFIX)/lib/sysusers.d

.PHONY: help build install deb dist try-dist interop test test-long test-boot test-crowd test-tls lint fmt run-cluster run-node run-job jepsen sim exhaustive mutants behaviours fuzz spec double-runs bench bench-job bench-address bench-locks cargo rust-tools

help: ## show this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) \
		| while IFS='|' read -r target text; do printf '%-14s %s\n' "$$target" "$$text"; done

build: cargo ## build target/release/electd
	$(CARGO) build --release

# The program that the targets below install, pack and try with other tools, and the one that prints its manual: another
# where that is for another kind of processor.
PROGRAM ?= target/release/electd
PRINTER ?= $(PROGRAM)

install: build install-files ## install the program, its manual, pages, completions and unit: make install [PREFIX=/usr/local] [DESTDIR=]

.PHONY: install-files
install-files:
	install -D -m 755 $(PROGRAM) $(BIN)/electd
	$(PRINTER) man --out $(SHARE)/man/man1
	install -d $(SHARE)/man/man5
	mv $(SHARE)/man/man1/electd.json.5 $(SHARE)/man/man5
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	$(PRINTER) completions bash > $(SHARE)/bash-completion/completions/electd
	$(PRINTER) completions zsh > $(SHARE)/zsh/site-functions/_electd
	$(PRINTER) completions fish > $(SHARE)/fish/vendor_completions.d/electd.fish
	install -d $(UNITS)
	sed 's|@BIN@|$(PREFIX)/bin|' packaging/electd@.service > $(UNITS)/electd@.service
	sed -f packaging/electd-cluster.sed $(UNITS)/electd@.service > $(UNITS)/electd-cluster@.service
	sed 's|@BIN@|$(PREFIX)/bin|' packaging/electd-exec@.service > $(UNITS)/electd-exec@.service
	install -D -m 644 packaging/electd.sysusers $(USERS)/electd.conf
	install -d $(DOC)/docs $(DOC)/examples
	install -m 644 README.md LICENSE NOTICE CONTRIBUTING.md SECURITY.md $(DOC)
	install -m 644 docs/*.md docs/*.svg docs/*.png $(DOC)/docs
	install -d $(DOC)/docs/spec
	install -m 644 docs/spec/* $(DOC)/docs/spec
	cp -R examples/. $(DOC)/examples
	install -m 644 packaging/electd-realtime.conf $(DOC)/examples
	chmod -R u=rwX,go=rX $(DOC)

deb: build ## build a Debian package: target/deb/electd_VERSION_ARCH.deb
	sh packaging/deb.sh $(PROGRAM) $(VERSION) target/deb

dist: cargo ## make target/dist, to upload: static programs, packages and an image for x86_64 and aarch64, and what they consist of
	sh packaging/dist.sh $(VERSION)

try-dist: ## try what make dist made, as root: in an empty root, by apt and rpm, in containers; says which tools are missing
	python3 packaging/try target/dist

interop: build ## try electd with HAProxy, Prometheus, systemd's tools, curl, dpkg, a browser, PostgreSQL, etcd and Redis, if they are installed
	sh tests/interop/run.sh $(PROGRAM) $(VERSION)

test: cargo ## run the tests, except those that take longer
	$(CARGO) test

# The tests that CI runs over TLS: clusters that elect, change and break.
OVER_TLS = cluster:: majority:: members:: partitions:: chaos:: freeze:: handover:: pause:: upgrade::

test-long: cargo ## run the longer tests, some with processes over TLS, and the model in an optimized build
	$(CARGO) test --test process -- --ignored --skip jobs::crowd
	ELECTD_TEST_TLS=1 ELECTD_TEST_CUTS=3 $(CARGO) test --test process -- --include-ignored $(OVER_TLS)
	$(TOOL)

test-crowd: cargo ## freeze leaders on a host with 15,000 processes, and beside a job of 6,000: for a quiet machine
	FREEZES=20 $(CARGO) test --release --test process -- --ignored --test-threads 1 jobs::crowd

# Cargo starts the tests by the program that this variable names.
RUNNER = CARGO_TARGET_$(shell echo $(HOST) | tr a-z- A-Z_)_RUNNER

test-boot: cargo ## run the unit tests as on a host that booted a minute ago: as root, in a time namespace
	@back=$$(( 60 - $$(cut -d. -f1 /proc/uptime) )); \
	young="unshare -T --fork --kill-child --boottime $$back --monotonic $$back"; \
	if ! $$young true; then \
		echo "not run: the unit tests as on a host that booted a minute ago, which needs root, unshare (util-linux) and a kernel with time namespaces"; \
		exit 0; \
	fi; \
	echo "the unit tests as on a host that booted a minute ago: there the uptime is $$($$young cut -d' ' -f1 /proc/uptime) s"; \
	env $(RUNNER)="$$young" $(CARGO) test --lib --quiet

test-tls: cargo ## run all tests with processes over TLS
	ELECTD_TEST_TLS=1 $(CARGO) test --test process -- --include-ignored

lint: rust-tools ## check the format, clippy and the documentation, without a warning
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) clippy -p electd --lib --no-default-features -- -D warnings
	$(CARGO) clippy -p electd $(WITHOUT_TLS) -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --quiet

fmt: rust-tools ## format the code
	$(CARGO) fmt

# What a newcomer waits for: the build that takes least. To build the C library of TLS takes as long as half of the rest,
# and this demo speaks none; the nodes of another CONFIG may. The tests use the other libraries, too.
WITHOUT_TLS = --no-default-features --features cli
DEMO = $(CARGO) run -p electd --bin electd $(if $(filter conf/cluster.json,$(CONFIG)),$(WITHOUT_TLS)) --

run-cluster: cargo ## run the nodes of conf/cluster.json, to watch and to disturb: make run-cluster [ALGORITHM=ring]
	@$(DEMO) demo --config $(CONFIG) $(if $(ALGORITHM),--algorithm $(ALGORITHM))

run-node: cargo ## start one node: make run-node NODE=node-1 [CONFIG=conf/cluster.json]
	@test -n "$(NODE)" || { echo "which node? make run-node NODE=node-1" >&2; exit 2; }
	$(DEMO) run --config $(CONFIG) --node $(NODE)

# A job that tells where it begins, and where it is asked to end.
JOB = echo "begins on $$ELECTD_NODE in epoch $$ELECTD_EPOCH"; trap "echo ends; exit" TERM; while :; do sleep 0.1; done

run-job: cargo ## run a job on one of three nodes: kill the leader by k, and see the job move
	@$(DEMO) demo --nodes 3 -- sh -c '$(JOB)'

# The tools of tests/model take their settings from the environment. They need the election and the simulator alone. One build
# serves all of them: the rules that `make mutants` breaks hold unless a test breaks one.
TOOL = $(CARGO) test -p model-tests --profile model --features planted --test model

jepsen: export MINUTES := $(MINUTES)
jepsen: cargo ## harm clusters of real processes in network namespaces at random, as root: make jepsen [MINUTES=10] [SEED=1]
	$(CARGO) test --test jepsen

sim: export SEEDS := $(SEEDS)
sim: cargo ## simulate SEEDS runs with faults, of each kind: make sim [SEEDS=1000]
	$(TOOL) -- --ignored --nocapture sweep::

exhaustive: export STATES := $(STATES)
exhaustive: cargo ## visit about STATES states of three voters, from each start: make exhaustive [STATES=1000000]
	$(TOOL) -- --ignored --nocapture exhaustive::

mutants: export MUTANTS := $(MUTANTS)
mutants: cargo ## plant faults, and check that the simulator finds each: make mutants [MUTANTS=halting]
	$(TOOL) -- --ignored --nocapture mutants::

# libFuzzer sees which code an input reaches by counters that the compiler adds; flags for a named target keep them out
# of build scripts. The last flag makes comparisons of memory calls that libFuzzer observes.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
COUNTERS = -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 inline-8bit-counters pc-table \
	trace-compares) -Cllvm-args=-max-loads-per-memcmp=0
FUZZER = target/fuzz/$(HOST)/release/electd-fuzz
TARGETS ?= frames hello messages state config requests answers
SECONDS ?= 60
CORPUS ?= target/fuzz/corpus

behaviours: cargo ## judge recordings of simulated runs by the specification, with planted faults too: make behaviours [RUNS=14] [MUTANTS=majority-no]
	RUNS=$(or $(RUNS),14) MUTANTS="$(MUTANTS)" $(TOOL) -- --nocapture behaviours::

fuzz: cargo ## feed the decoders of outside input with odd bytes: make fuzz [SECONDS=60] [TARGETS=state]
	@command -v c++ >/dev/null || { echo "c++ is missing: libFuzzer is built with it; install g++ or clang" >&2; exit 1; }
	RUSTFLAGS="$(COUNTERS)" $(CARGO) build --release --quiet --manifest-path fuzz/Cargo.toml \
		--target $(HOST) --target-dir target/fuzz
	@set -e; for target in $(TARGETS); do \
		mkdir -p $(CORPUS)/$$target; echo "fuzz: $$target"; \
		ELECTD_FUZZ=$$target ELECTD_CORPUS=$(CORPUS)/$$target $(FUZZER) $(CORPUS)/$$target -timeout=10 -max_len=131072 \
			-artifact_prefix=target/fuzz/$$target- -print_final_stats=1 -print_funcs=0 -verbosity=0 \
			-max_total_time=$$(( 1 + ($(SECONDS) - 1) / $(words $(TARGETS)) )); \
	done

# Each .cfg beside the specifications is a model: of Locks.tla if it is called locks, of Votes.tla if votes, else of Promises.tla.
# Those called wrong have a planted mistake, which has to be found.
TLA = target/spec/bin/tla
$(TLA): | cargo
	$(CARGO) install --quiet --root target/spec --locked --version 0.1.0 tlaplus-cli || { \
		echo "tlaplus-cli is missing, which checks the specifications: cargo has to fetch it once" >&2; exit 1; }

spec: $(TLA) ## check the specifications in TLA+: the rules hold, and each planted mistake is found: make spec [MODELS=locks]
	@set -e; for model in docs/spec/$(MODELS)*.cfg; do \
		case $$model in */locks-*) module=Locks;; */votes-*) module=Votes;; *) module=Promises;; esac; \
		case $$model in */wrong-*|*-wrong-*) wanted="^Invariant .* is violated";; *) wanted="^Safety checks passed";; esac; \
		said=$$($(TLA) --workers 2 --no-deadlock --config $$model docs/spec/$$module.tla 2>&1 || true); \
		echo "$$said" | grep -q "$$wanted" || { echo "$$model: not so: $$wanted"; echo "$$said"; exit 1; }; \
		echo "$$model: $$(echo "$$said" | grep -o "$$wanted"), $$(echo "$$said" | grep "distinct states")"; \
	done

double-runs: export SEED := $(or $(SEED),1)
double-runs: build ## measure how long two jobs run, of electd and of others' locks, as root: make double-runs [ROW=etcdctl] [FAULT=cut] [TIMES=5]
	ROW=$(ROW) FAULT=$(FAULT) TIMES=$(TIMES) JOBS=$(JOBS) python3 -B tests/double_runs/main.py $(PROGRAM) target/double-runs.jsonl
	@python3 -B tests/double_runs/table.py target/double-runs.jsonl

bench: cargo ## measure the time from a leader's death to the next leader
	$(CARGO) bench --bench failover

bench-job: cargo ## measure the time from a leader's death to its command on the next host
	$(CARGO) bench --bench job

bench-address: cargo ## measure the outage of an address beside keepalived's: needs root, ip and keepalived
	$(CARGO) bench --bench address

bench-locks: cargo ## measure locks, beside etcd, keepalived and ZooKeeper with kazoo: needs root, ip, python3 and those: make bench-locks [WHAT="idle kill"]
	$(CARGO) build --release
	$(CARGO) build --release --example holder
	python3 -B benches/locks/main.py target/release/electd target/release/examples/holder $(WHAT)

cargo:
	@command -v $(CARGO) >/dev/null || { \
		echo "$(CARGO) is missing: install stable Rust from https://rustup.rs, then open a new shell (under sudo: make build first, then sudo make install-files)" >&2; \
		exit 1; }

rust-tools: cargo
	@$(CARGO) fmt --version >/dev/null 2>&1 || { \
		echo "rustfmt is missing: rustup component add rustfmt" >&2; exit 1; }
	@$(CARGO) clippy --version >/dev/null 2>&1 || { \
		echo "clippy is missing: rustup component add clippy" >&2; exit 1; }
