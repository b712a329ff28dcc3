# The two commands of the README: make demo, make test. Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: install demo ui test test-slow lint clean

install: $(INSTALLED)

# torch first: sam2 builds against it, and --no-build-isolation keeps pip from fetching it twice.
$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip setuptools wheel
	$(BIN)/pip install --quiet -c constraints.txt torch torchvision numpy
	SAM2_BUILD_CUDA=0 $(BIN)/pip install --quiet -c constraints.txt --no-build-isolation sam2
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

demo: install
	$(BIN)/bindbench run --suite embedded

ui: install
	$(BIN)/bindbench ui --suite embedded

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m "not slow"

test-slow: install
	OMP_NUM_THREADS=1 $(BIN)/pytest -m slow

clean:
	rm -rf $(VENV) store
