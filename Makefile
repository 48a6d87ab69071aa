.PHONY: demo check format update-golden benchmarks

demo:
	./demo

check:
	./check

format:
	bin/set-up dev
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

# Writes what the program gives now into the golden files; review the difference as code.
update-golden:
	bin/set-up dev
	UPDATE_GOLDEN=1 .venv/bin/pytest -q tests

benchmarks:
	bin/set-up bench
	.venv/bin/python -m benchmarks run
