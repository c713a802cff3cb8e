# A thin door: each target says what to install (scripts/setup) and hands the work to CMake or a script.
# `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help run test build bench lint fuzz package clean
MAKEFLAGS += --no-print-directory

release := build/release
example := examples/keras_fashion.py

help:
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## train a real model (TensorFlow/Keras, Fashion-MNIST) under `joulery run` and print its energy report
	@scripts/setup run
	PYTHONPATH=$(release)/python OMP_WAIT_POLICY=passive TF_CPP_MIN_LOG_LEVEL=2 TF_ENABLE_ONEDNN_OPTS=0 \
	  $(release)/joulery run -- .venv/bin/python $(example)

test: ## install what is missing, build, run every test; the last line is `N passed, N failed`
	@scripts/setup build || { echo "0 passed, 1 failed"; exit 1; }
	@scripts/test --prepare

build: ## build the release program: build/release/joulery
	@scripts/setup build
	@[ -f $(release)/build.ninja ] || cmake --preset release -DJOULERY_TESTS=OFF
	@cmake --build --preset release

bench: ## run the benchmarks and print ratios against named peers
	@scripts/setup build test bench
	@cmake --preset release -DJOULERY_TESTS=ON -DJOULERY_BENCH=ON
	@cmake --build --preset release
	@bench/run

lint: ## check the order of the folders, the format, and what clang-tidy, shellcheck and pyflakes find
	@scripts/setup build test lint fuzz
	@scripts/lint

fuzz: ## fuzz every parser for a minute each (FUZZ_SECONDS=60, FUZZ_SEED=0: another each time)
	@scripts/setup build test fuzz
	@scripts/test --only fuzz --prepare

package: ## make the wheel, the .deb and the npm package in dist/
	@scripts/setup build package
	@scripts/package

clean: ## remove what was built (build/ and dist/); what was installed stays
	@rm -rf build dist
