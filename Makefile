# SPDX-License-Identifier: MIT
# The front door. `make help` lists what it does; meson builds the programs, Kbuild the module,
# scripts/ everything that boots.

BUILD ?= build
INSTANCE ?= inf1.6xlarge
DESTDIR ?=
FUZZ_TIME ?= 600
AREAS ?= $(basename $(notdir $(wildcard tests/mutate/*.list)))
# whose rows name tests in guests
GUEST_AREAS := $(basename $(notdir $(shell grep -l '^tests:.*vm/' tests/mutate/*.list)))
FUZZ_ENGINE ?= libfuzzer
SOAK_TIME ?= 600
JAX ?=
# whose chip the networks are compiled for
TARGET ?= inf1
SOAK_SEED ?=
# some groups of the measures alone; whether they are written down
ONLY ?=
WRITE ?=
# on what other Debian, and what of this file there
SUITE ?= trixie
STEPS ?=
# The guests' kernel: the newest cloud kernel of this machine's Debian whose headers are here
KVER ?= $(shell scripts/fetch-kernel --have)
KDIR ?= $(shell scripts/fetch-kernel --headers $(KVER))

REL := $(BUILD)/release
SAN := $(BUILD)/sanitized
LOG := $(BUILD)/log
STEP := scripts/step $(LOG)
MIGRATION_TESTS := $(addprefix tests/vm/,migration.t hotplug.t power.t runtime-gap.t removal.t \
	hostile-state.t)

# The types of chips after the first, and the tests of them that `make check` has time for
LATER := trainium inferentia2 trainium2
V2_SHORT := $(addprefix tests/vm/,hotplug.t hostile-registers.t driver-guard.t driver-process.t)

.PHONY: help deps programs modules qemu guest demo vm run check check-quick check-guest \
	check-generic-kernel check-qemu-newest test-modules check-module check-migration check-faults \
	check-module-builds check-debug-kernel check-debug-kernel-short check-kcsan lint bench \
	install dkms modules_install clean

help: ## this list
	@sed -n 's/^\([a-z_-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

deps: ## install the packages that building and running need (asks for sudo once)
	@scripts/install-deps

$(REL)/build.ninja $(SAN)/build.ninja: | deps
$(REL)/build.ninja:
	@meson setup $(REL) --buildtype=release --prefix=/opt/aws/neuron --libdir=lib -Db_ndebug=false >/dev/null
$(SAN)/build.ninja:
	@meson setup $(SAN) -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false >/dev/null

programs: $(REL)/build.ninja ## build the programs and libraries
	@$(STEP) 1/4 "programs and libraries" ninja -C $(REL) $$(scripts/installed-targets $(REL))

# Tests and benchmarks of the release build
.PHONY: test-programs
test-programs: programs
	@$(STEP) 1/1 "programs of tests" ninja -C $(REL)

.PHONY: wheel
wheel: programs ## the wheels for JAX and PyTorch, in build/wheel (setuptools and auditwheel from PyPI)
	@scripts/install-deps --frameworks
	@$(STEP) 1/2 "library for PyTorch" ninja -C $(REL) frameworks/torch/memory/libneurontorch.so
	@$(STEP) 2/2 "wheel" frameworks/wheel $(REL) $(BUILD)/wheel

modules: | deps ## build neuron.ko for KVER
	@$(STEP) 2/4 "kernel module for $(KVER)" $(MAKE) -C $(KDIR) M=$(CURDIR) modules

qemu: | deps ## build QEMU with the device (about three minutes the first time)
	@$(STEP) 3/4 "QEMU with neuron-inferentia" scripts/build-qemu

guest: programs modules qemu ## build the guest images
	@$(STEP) 4/4 "guest images" neuron-vm/neuron-vm prepare --build $(REL) --kernel $(KVER)

demo: guest ## four chips in a VM: neuron-ls, the daemon, 1,797 digits on 16 cores
	@scripts/demo --build $(REL) --instance $(INSTANCE)

vm: guest ## the demo, and then you are logged in; INSTANCE=trn1.32xlarge for 16 chips in a torus
	@scripts/demo --build $(REL) --instance $(INSTANCE) --login

run: programs ## the same model on the chip in process: neither root nor VM
	@scripts/demo --build $(REL) --in-process

check-quick: $(SAN)/build.ninja ## unit tests under sanitizers: no VM, no QEMU
	@$(STEP) 1/2 "programs with sanitizers" ninja -C $(SAN) meson-test-prereq
	@meson test -C $(SAN) --no-rebuild --print-errorlogs

.PHONY: check-networks
check-networks: test-programs ## whole networks on the chip in process against float64 (JAX and more from PyPI; TARGET=trn1: its chip)
	@scripts/install-deps --networks
	@tests/networks/run --build $(REL) --output $(BUILD)/networks --target $(TARGET)

.PHONY: check-sweep
check-sweep: test-programs ## operators on the ends of their types, against onnxruntime, NumPy and JAX (from PyPI; TARGET=trn1: its chip)
	@scripts/install-deps --networks
	@set -e; for s in tests/sweep/onnx.py tests/sweep/hlo.py; do $$s --build $(REL) --target $(TARGET); done

NEFF_HASHES = tests/conformance/neff_hashes.py
NEFF_PROGRAMS = . $(REL)/tools/neuronx-cc/neuronx-cc $(REL)/tests/unit/compiler/frontend/onnx/test_onnx_nodes
.PHONY: check-neffs neff-hashes
check-neffs: test-programs ## the compiler writes, bit by bit, the NEFFs that it wrote before, of every model in tests/data
	@$(NEFF_HASHES) $(NEFF_PROGRAMS)
neff-hashes: test-programs ## takes today's NEFFs for those of check-neffs
	@$(NEFF_HASHES) --write $(NEFF_PROGRAMS)

.PHONY: check-frameworks check-frameworks-short
check-frameworks: test-programs ## JAX and PyTorch on the wheels, against their CPU (from PyPI; JAX="0.6.2 torch_xla torch_native": these)
	@scripts/install-deps --frameworks
	@tests/frameworks/run --build $(REL) --output $(BUILD)/tap-frameworks $(JAX)

# What of it `make check` has time for: the newest JAX
check-frameworks-short: test-programs
	@scripts/install-deps --frameworks
	@tests/frameworks/run --build $(REL) --output $(BUILD)/tap/frameworks --short

check-generic-kernel: test-programs qemu ## what the cloud kernel has not: hwmon, device coredumps
	@tests/vm/generic-kernel --build $(REL) --output $(BUILD)/tap-generic

check-qemu-newest: test-programs test-modules ## the guest tests on QEMU 10.2, with kernels 6.1 and 6.12 (builds both)
	@scripts/install-deps --newest-qemu
	@tests/vm/newest-qemu --build $(REL) --output $(BUILD)/tap-newest

test-modules: modules
	@$(MAKE) -s -C $(KDIR) M=$(CURDIR)/tests/vm/importer modules

check-guest: guest test-programs test-modules ## the tests that run in guests (TAP)
	@status=0; tests/vm/run --build $(REL) --output $(BUILD)/tap || status=1; \
		for chip in $(LATER); do \
			NEURON_CHIP=$$chip tests/vm/run --build $(REL) --output $(BUILD)/tap $(V2_SHORT) || status=1; \
		done; exit $$status

.PHONY: check-chips
check-chips: guest test-programs test-modules ## the module's and the device's tests on every type of chip after Inferentia, and on whole instances
	@status=0; for chip in $(LATER); do \
			NEURON_CHIP=$$chip tests/vm/run --build $(REL) --output $(BUILD)/tap-chips || status=1; \
			NEURON_WHOLE=1 NEURON_CHIP=$$chip tests/vm/run --build $(REL) --output $(BUILD)/tap-chips/whole \
				tests/vm/driver-rounds.t || status=1; \
		done; exit $$status

check-module: | deps ## the module under checkpatch, sparse, W=1, clang and its analyser
	@mkdir -p $(BUILD)/tap
	@scripts/check-module $(KDIR) $(BUILD)/check-module >$(BUILD)/tap/check-module.tap; \
		status=$$?; cat $(BUILD)/tap/check-module.tap; exit $$status

check-migration: guest test-programs ## long runs: saved, moved, plugged, reset and suspended in the middle of work
	@NEURON_TESTS=long tests/vm/run --build $(REL) --output $(BUILD)/tap-migration $(MIGRATION_TESTS)

check-debug-kernel: test-programs qemu ## the guest tests on a kernel with KASAN, lockdep, kmemleak
	@scripts/check-debug-kernel kasan $(BUILD)

check-kcsan: test-programs qemu ## the module's guest tests on a kernel that reports data races
	@scripts/check-debug-kernel kcsan $(BUILD)

# What of it `make check` has time for
check-debug-kernel-short: test-programs qemu
	@scripts/check-debug-kernel kasan $(BUILD) tests/vm/driver-fuzz.t

.PHONY: check-packages
check-packages: | deps ## the Debian packages: built, under lintian, installed, tested, upgraded and purged
	@scripts/install-deps --packages
	@scripts/check-packages $(BUILD)/packages

.PHONY: check-system
check-system: guest test-programs ## a Debian guest with only our packages: installed, used by an ordinary client, purged
	@scripts/install-deps --packages
	@scripts/check-system $(BUILD)/system

.PHONY: check-host
check-host: ## `make run` on a bare Debian of another suite (SUITE=trixie); STEPS="demo check-quick" for more
	@mkdir -p $(BUILD)/tap
	@scripts/check-host $(SUITE) $(BUILD)/host-$(SUITE) $(STEPS) >$(BUILD)/tap/host-$(SUITE).tap; \
		status=$$?; cat $(BUILD)/tap/host-$(SUITE).tap; exit $$status

check-module-builds: ## the module against the newest kernels of Debian's suites (downloads)
	@scripts/check-module-builds $(BUILD)/module-builds

check: ## every test, with all set-up; ends with the totals
	@scripts/check $(BUILD)

check-faults: guest test-programs ## fault injection: what module, daemon and tools say, and that the chip recovers
	@$(REL)/tests/unit/core/test_fault
	@tests/vm/run --build $(REL) --output $(BUILD)/tap tests/vm/fault-*.t

lint: ## style: clang-format, shellcheck, SPDX lines, subjects of new commits
	@scripts/lint

# The module's run in guests, the others need no VM
.PHONY: mutate
mutate: $(if $(filter $(GUEST_AREAS),$(AREAS)),guest test-programs test-modules) | deps ## take checks away one by one: the named tests must fail (AREAS, MUTATIONS; JOBS=N at once; RESUME=1: what is left)
	@scripts/install-deps --custom-ops
	@set -f; KDIR=$(KDIR) tests/mutate/run --build $(BUILD) $(if $(JOBS),--jobs $(JOBS)) $(if $(RESUME),--resume) $(addprefix --area ,$(AREAS)) $(MUTATIONS)

bench: guest test-programs ## the measures beside their goals (ONLY=boot,memory: these; WRITE=1: into docs/performance.md)
	@tests/bench/run.py --build $(REL) $(if $(ONLY),--only $(ONLY)) $(if $(WRITE),--write)

.PHONY: fuzz fuzz-device fuzz-smoke
fuzz: ## run the fuzzers for FUZZ_TIME seconds in all (600); FUZZ_ENGINE=afl for AFL++
	@scripts/install-deps --fuzz
	@tests/fuzz/run --time $(FUZZ_TIME) --engine $(FUZZ_ENGINE)

fuzz-device: ## the same for the device in a QEMU with sanitizers (builds it: five minutes)
	@scripts/install-deps --fuzz
	@tests/fuzz/device.py --time $(FUZZ_TIME)

fuzz-smoke: ## five minutes of both
	@$(MAKE) --no-print-directory FUZZ_TIME=200 fuzz
	@$(MAKE) --no-print-directory FUZZ_TIME=100 fuzz-device

.PHONY: soak
soak: $(SAN)/build.ninja ## the daemon under random clients, kills and restarts, for SOAK_TIME seconds (600)
	@$(STEP) 1/1 "programs with sanitizers" ninja -C $(SAN) runtime/rtd/neuron-rtd tools/neuronx-cc/neuronx-cc \
		tests/unit/neff/testmodel_write
	@tests/soak/soak.py --build $(SAN) --time $(SOAK_TIME) $(addprefix --seed ,$(SOAK_SEED))

install: ## install what `make programs` built (prefix /opt/aws/neuron; DESTDIR)
	@scripts/stage $(REL) $(REL)/stage
	@cp -r --preserve=mode,links $(REL)/stage/. $(DESTDIR)/
	@scripts/stage-vm $(REL)/stage $(DESTDIR)
	@[ -n "$(DESTDIR)" ] || ldconfig

dkms: ## put the module's source into DESTDIR/usr/src, for dkms
	@install -d $(DESTDIR)/usr/src
	@version=$$(scripts/dkms-source $(DESTDIR)/usr/src) && \
		echo "now: dkms install neuron/$$version"

modules_install: ## install what `make modules` built for KVER
	@$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install INSTALL_MOD_PATH=$(DESTDIR)

clean: ## remove what was built here (caches outside the tree stay)
	@rm -rf $(BUILD)
	@[ ! -d $(KDIR) ] || $(MAKE) -s -C $(KDIR) M=$(CURDIR) clean
