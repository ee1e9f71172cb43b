# A thin front for meson: `make help` lists what there is.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 30
# Further arguments for tests/run.py (--durations, --junit=FILE, --suite NAME), tests/warm/soak.py,
# tests/hosts/check.py and tests/bench/bench.py.
CHECK_ARGS ?=
SOAK_ARGS ?=
HOSTS_ARGS ?=
BENCH_ARGS ?=
# Which of tests/hosts/machines, of tests/blackbox/diagnosis, and of the places of
# tests/fresh/check.py; all, unless named.
HOSTS ?=
TABLES ?=
FRESH ?=

comma := ,

# Debian's own, by their full names: a version manager may have put another python first.
PYTHON := /usr/bin/python3
MESON := /usr/bin/meson
NINJA := /usr/bin/ninja

SHELL := /bin/bash
.DEFAULT_GOAL := all
.NOTPARALLEL:
.PHONY: all hello check check-all check-diagnosis check-suites check-engines check-images check-fresh check-hosts asan tsan soak coverage fuzz lint format bench
.PHONY: diagrams pictures install clean help
.PHONY: test-build cross-build

# Call as $(call configure,FOLDER,OPTIONS).  Speaks only when there is something to say.  Languages and
# templates are built in as they are found, and unit tests when cmocka is there: a new file and a new
# package are reasons to look again.
define configure
	@test -f $(1)/build.ninja || { \
		echo "configuring $(1)" >&2; rm -rf $(1)/meson-private; \
		log=$$($(MESON) setup $(1) $(2) 2>&1) || { printf '%s\n' "$$log" >&2; exit 1; }; \
		printf '%s\n' "$$log" | sed -n 's/^Message: \(.* is left out: .*\)/\1/p' >&2; }
	@{ test -z "$$(find languages templates -type d -newer $(1)/build.ninja)" && \
		! test /var/lib/dpkg/status -nt $(1)/build.ninja; } || { \
		log=$$($(MESON) setup --reconfigure $(1) 2>&1) || { printf '%s\n' "$$log" >&2; exit 1; }; }
endef

# A progress line on a terminal; elsewhere only warnings and errors.
define compile
	@if test -t 1; then exec $(NINJA) -C $(1) $(2); fi; \
	log=$$($(NINJA) --quiet -C $(1) $(2) 2>&1) || { printf '%s\n' "$$log" >&2; exit 1; }; \
	case $$log in *warning:*) printf '%s\n' "$$log" >&2 ;; esac
endef

all: ## build the programs into build/ (the default)
	$(call configure,build,--buildtype=release --prefix=$(PREFIX))
	@$(PYTHON) -c 'import json, sys; \
		options = json.load(open("build/meson-info/intro-buildoptions.json")); \
		sys.exit(any(o["name"] == "prefix" and o["value"] != sys.argv[1] for o in options))' \
		$(PREFIX) || $(MESON) configure build -Dprefix=$(PREFIX)
	$(call compile,build)

hello: ## install what the build needs, build, and run a first program
	@tools/packages.sh build
	@$(MAKE) --no-print-directory all
	@tools/hello.sh build/sandbox-run

check: ## build and run every test that proves the product
	@tools/packages.sh check
	@$(both-builds)
	@$(PYTHON) tests/run.py $(CHECK_ARGS)

# Each part runs, whatever became of those before it.
check-all: ## check, lint and all that takes longer, one after the other
	@failed=; \
	for part in check lint check-diagnosis check-suites check-engines check-images asan tsan soak check-hosts check-fresh; do \
		echo "== make $$part"; \
		$(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

# At the same time, since each has steps that use one processor; one of them shows its progress, and
# neither is left behind when the other fails.
both-builds = { $(MAKE) --no-print-directory test-build | cat; exit $${PIPESTATUS[0]}; } & \
	$(MAKE) --no-print-directory all; status=$$?; wait $$! && exit $$status

# The same code with the switches that let tests turn one mechanism off or make one step fail.
test-build:
	$(call configure,build-test,--buildtype=release -Doptimization=1 -Dtest_hooks=true -Dunit_tests=false)
	$(call compile,build-test)

check-hosts: ## boot real kernels, run the core tests on each, write the table of docs/hosts.md
	@tools/packages.sh hosts
	@$(MAKE) --no-print-directory all test-build
	@case '$(HOSTS)' in '' | *aarch64*) $(MAKE) --no-print-directory cross-build || \
		echo 'there are no programs for the hosts of the other architecture: they will fail' >&2 ;; esac
	@$(PYTHON) tests/hosts/check.py $(HOSTS_ARGS) $(HOSTS)

check-diagnosis: ## record anew what the real tools say of each mistake, show what is different
	@tools/packages.sh check
	@$(MAKE) --no-print-directory all
	@$(PYTHON) -B tests/record_diagnosis.py $(TABLES)

check-suites: ## real projects with their own tests; the tables of languages over HTTP and the SDKs; /docs in Chromium
	@tools/packages.sh suites
	@$(MAKE) --no-print-directory all
	@cd tests && $(PYTHON) -B real_suites.py $(SUITES)
	@SBR_WHOLE_TABLE=1 SBR_BROWSER=1 SBR_MUST_WORK=1 $(PYTHON) tests/run.py --suite blackbox \
		-k "test_same_results or test_reference_page"

check-engines: ## runs in containers of Docker and Podman, whose services the tests start
	@tools/packages.sh hosts
	@$(MAKE) --no-print-directory all
	@SBR_ENGINES=1 SBR_MUST_WORK=1 $(PYTHON) tests/run.py --suite blackbox -k test_backend_engines

check-images: ## the images that `image build` knows, built twice from Debian and the registries, and used
	@tools/packages.sh check
	@$(MAKE) --no-print-directory all
	@SBR_IMAGES=1 SBR_MUST_WORK=1 SBR_SILENCE=3600 $(PYTHON) tests/run.py --suite blackbox -k test_image_ready

check-fresh: ## both commands on a bare Debian 12: in a chroot, in containers, booted, as a user with sudo
	@tools/packages.sh hosts
	@$(MAKE) --no-print-directory all
	@$(PYTHON) -B tests/fresh/check.py $(FRESH)

# For the hosts of the other architecture; their root file system is the compiler's as well.
CROSS := build-hosts/cross
cross-build:
	@tools/cross.sh aarch64 "$$($(PYTHON) tests/hosts/rootfs.py arm64 aarch64)" "$(CURDIR)/$(CROSS)"
	$(call configure,build-aarch64,--buildtype=release --cross-file "$(CURDIR)/$(CROSS)/cross.ini" -Dinit_libc=musl)
	$(call compile,build-aarch64)
	$(call configure,build-aarch64-test,--buildtype=release --cross-file "$(CURDIR)/$(CROSS)/cross.ini" \
		-Dinit_libc=musl -Dtest_hooks=true)
	$(call compile,build-aarch64-test)

# The servers for agents and of other services' interfaces, by their black-box tests; those with clients
# of registries take longer and reach no other code.  A confined process may set no signal stack.
SANITIZED := (test_endings or test_batch or test_mcp.py or test_mcp_hostile or test_mcp_roots or test_http_mcp or test_dialect) \
	and not test_the_client and not clients_that_nobody

asan: ## unit tests, saved fuzz inputs, MCP and dialects under AddressSanitizer and UBSan
	@tools/packages.sh check
	$(call configure,build-asan,--buildtype=debugoptimized -Db_sanitize=address$(comma)undefined)
	$(call compile,build-asan)
	@ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:allocator_may_return_null=1 \
		UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1 \
		$(PYTHON) tests/run.py --suite unit --suite fuzz \
		--build build-asan --test-build build-asan $(CHECK_ARGS)
	@ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=0:use_sigaltstack=0 \
		UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1 \
		$(PYTHON) tests/run.py --suite blackbox -k "$(SANITIZED)" --build build-asan --test-build build-asan
	@SBR_BUILD=build-asan $(PYTHON) -B tests/warm/soak.py --sanitize address,undefined --runs 500 $(SOAK_ARGS)

tsan: ## the engine and a client with many threads under ThreadSanitizer
	@tools/packages.sh check
	$(call configure,build-tsan,--buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false)
	$(call compile,build-tsan)
	@SBR_BUILD=build-tsan $(PYTHON) -B tests/warm/soak.py --sanitize thread --runs 500 $(SOAK_ARGS)

soak: ## 20,000 mixed runs through an engine, 1,000 cells, a batch of 10,000, 10,000 requests of HTTP; with kills and crashes
	@tools/packages.sh check
	@$(MAKE) --no-print-directory all
	@$(PYTHON) -B tests/warm/soak.py $(SOAK_ARGS)
	@$(PYTHON) -B tests/warm/faults.py --steps --kills 200
	@$(PYTHON) -B tests/warm/work_faults.py --stride 3
	@$(PYTHON) -B tests/warm/service_faults.py
	@SBR_SESSION_KILLS=1000 SBR_ENGINE_RESTARTS=10 SBR_LIVE_SESSIONS=20 \
		$(PYTHON) tests/run.py --suite blackbox -k "session_kills or session_engines"
	@cd tests && $(PYTHON) -B long_batch.py
	@SOAK_REQUESTS=10000 $(PYTHON) tests/run.py --suite blackbox -k "test_clients_leave"

coverage: ## how much of src/ the unit, golden, blackbox, escape and warm tests reach; fails below 80 % of lines
	@tools/packages.sh check
	@rm -rf build-coverage
	$(call configure,build-coverage,--buildtype=debug -Db_coverage=true -Dtest_hooks=true)
	$(call compile,build-coverage)
	@tests/coverage/run.sh build-coverage $(CHECK_ARGS)
	@$(PYTHON) /usr/bin/gcovr --root . --filter src/ --object-directory build-coverage \
		--txt build-coverage/coverage.txt --print-summary --fail-under-line 80 build-coverage
	@echo 'per file: build-coverage/coverage.txt'

fuzz: export CC := clang
# libFuzzer adds what it finds to the first folder: that is the scratch one, never the saved corpus.
fuzz: ## fuzz every target for FUZZ_SECONDS (30) each
	@tools/packages.sh check
	$(call configure,build-fuzz,--buildtype=debugoptimized -Dfuzz=true -Db_lundef=false -Dwerror=false)
	$(call compile,build-fuzz,fuzzers)
	@found=; failed=; \
	for target in $$(find build-fuzz -type f -executable -name 'fuzz_*' | sort); do \
		found=1; name=$${target##*/fuzz_}; scratch=build-fuzz/scratch/$$name; \
		corpus=tests/fuzz/corpus/$$name; log=build-fuzz/fuzz_$$name.log; \
		mkdir -p "$$scratch"; test -d "$$corpus" || corpus=; \
		echo "fuzzing $$name for $(FUZZ_SECONDS) s"; \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
			"$$target" -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
			-artifact_prefix="build-fuzz/$$name-" "$$scratch" $$corpus >"$$log" 2>&1 || \
			{ failed="$$failed $$name"; tail -n 60 "$$log" >&2; }; \
	done; \
	test -n "$$found" || { echo 'no fuzz targets in build-fuzz' >&2; exit 1; }; \
	test -z "$$failed" || { echo "failed:$$failed; inputs are in build-fuzz/" >&2; exit 1; }

lint: ## layers, budgets, format, clang-tidy, cppcheck, shellcheck
	@tools/packages.sh check
	@$(MAKE) --no-print-directory all
	@$(PYTHON) -B tests/lint/run_lint.py

format: ## let clang-format decide
	@find src include tests -name '*.[ch]' -exec clang-format -i {} +

bench: ## measure, next to bubblewrap, crun and runc
	@tools/packages.sh bench
	@$(MAKE) --no-print-directory all
	@$(PYTHON) -B tests/bench/bench.py $(BENCH_ARGS)

# The sum of its source stands in each picture: the lint `documents` sees one that is out of date.
DIAGRAMS := $(wildcard docs/internals/*.dot)
diagrams: ## draw docs/internals/*.svg from *.dot
	@tools/packages.sh diagrams
	@for source in $(DIAGRAMS); do \
		sum=$$(sha256sum <"$$source") && dot -Tsvg "$$source" -o "$${source%.dot}.svg" && \
		printf '<!-- sha256 of %s: %s -->\n' "$${source##*/}" "$${sum%% *}" >>"$${source%.dot}.svg" || exit 1; \
	done

pictures: all ## draw docs/pictures/*.svg, screens of a terminal, from real runs
	@tools/packages.sh check
	@/usr/bin/python3 -B tests/blackbox/pictures.py

install: all ## install below DESTDIR and PREFIX (/usr/local)
	@DESTDIR=$(DESTDIR) $(MESON) install -C build --no-rebuild --quiet

clean: ## remove every build folder
	@rm -rf build build-test build-asan build-tsan build-coverage build-fuzz build-aarch64 build-aarch64-test build-hosts

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
