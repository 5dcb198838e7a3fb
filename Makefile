# Two commands: `make demo` shows what trine does, `make test` checks it. Both install what is
# missing from Debian, build, and say what they are doing. The build itself is CMake's.
BUILD ?= build/release
JOBS ?= $(shell nproc)
MODEL ?= models/k3-nano
LAUNCHER := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(LAUNCHER)

.PHONY: all demo test deps clean install help
all: deps
	@echo "== configuring $(BUILD)"
	@$(CONFIGURE) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@echo "== building trine with $(JOBS) jobs"
	@cmake --build $(BUILD) --target trine -j $(JOBS)
	@echo "== built $(BUILD)/trine"

demo: all
	@scripts/demo.sh $(BUILD)/trine $(MODEL)

test: deps
	@echo "== configuring $(BUILD) with tests"
	@$(CONFIGURE) -DTRINE_TESTS=ON >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@echo "== building everything with $(JOBS) jobs"
	@cmake --build $(BUILD) -j $(JOBS)
	@echo "== running the tests"
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS)

deps:
	@mkdir -p $(dir $(BUILD))
	@scripts/deps.sh

install: all
	cmake --install $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD).log

help:
	@echo "make           build trine ($(BUILD)/trine)"
	@echo "make demo      build it, and show what it does on $(MODEL)"
	@echo "make test      build everything and run the tests"
	@echo "make deps      install what is missing from Debian"
	@echo "make install   install trine (prefix: cmake -DCMAKE_INSTALL_PREFIX=...)"
	@echo "make clean     remove the build"
	@echo "BUILD=folder, JOBS=n and MODEL=folder may be set."
