.PHONY: demo check format site update-golden benchmarks

demo:
	./demo

check:
	./check

format:
	bin/set-up dev
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

# Shows the documentation at http://127.0.0.1:8000 and follows edits of its pages.
site:
	bin/set-up dev
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs serve

# Writes what the program gives now into the golden files; review the difference as code.
update-golden:
	bin/set-up dev
	UPDATE_GOLDEN=1 .venv/bin/pytest -q tests

benchmarks:
	bin/set-up bench
	.venv/bin/python -m benchmarks run
