# Every target builds .venv itself, from requirements.lock, when it is missing or stale. `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Tests wait for thousands of fsyncs; in memory they are as good and many times as quick.
RAM    := $(wildcard /dev/shm)
PYTEST := $(if $(RAM),TMPDIR=$(RAM)) $(BIN)/python -m pytest
JOBS   ?= 2
N      ?= 20000
FIRST  ?= 100000

.DEFAULT_GOAL := help
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): requirements.lock pyproject.toml tools/check_python.sh
	@sh tools/check_python.sh $(PYTHON)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the locked dependencies into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

setup: $(STAMP) ## build .venv from the lock
	@echo "ready: $(VENV)"

# Asked before anything is installed: whoever lacks Java learns it at once.
java:
	@sh tools/check_java.sh

# Each process starts at most one Spark session, so JOBS bounds the memory too.
test: java $(STAMP) ## run every test that needs Python and Java only, those on Spark included
	$(PYTEST) -n $(JOBS) --dist worksteal -m "not peers and not java and not servers and not browser" tests

test-quick: $(STAMP) ## run the tests that need no Spark session and no Java
	$(PYTEST) -n $(JOBS) --dist worksteal -m "not spark and not peers and not java and not servers and not browser" tests

test-spark: java $(STAMP) ## run the tests that start a Spark session
	$(PYTEST) -n $(JOBS) --dist worksteal -m spark tests/spark

test-connect: java $(STAMP) ## run the marked core over Spark Connect
	@if $(BIN)/python -c "import pyspark.sql.connect.session"; then FLOEBERG_SPARK=connect $(PYTEST) -m connect tests/spark; \
	  else echo "SKIPPED: this pyspark cannot speak Spark Connect; install pyspark[connect] (grpcio and its companions)"; fi

# What reaches executors. Names, most of DDL, and how conditions and columns are told to Spark are the driver's.
ON_EXECUTORS := dml read reach write ddl/test_types_and_transforms.py test_corpus.py
ON_DRIVER    := dml/test_merge_into.py read/test_compiled_traps.py read/test_pruned_frames.py write/test_overwrite_conditions.py
test-cluster: java $(STAMP) ## run the marked core on a standalone cluster of a master and two workers
	$(if $(RAM),TMPDIR=$(RAM)) $(BIN)/python tools/with_cluster.py $(BIN)/python -m pytest -m "connect or cluster" $(addprefix tests/spark/,$(ON_EXECUTORS)) $(addprefix --ignore=tests/spark/,$(ON_DRIVER))

# Readers whose packages clash with ours live in environments of their own. `ready` says what was installed.
PEERS          := .cache/peers
PEER_core      := pyiceberg-core==0.11.0 datafusion>=54,<55 pyarrow
PEER_java      := pyspark==4.1.1 pandas<3 pyarrow
# The Spark of the Java runtime, with Floeberg beside it: the benchmarks run both there.
PEER_spark41   := pyspark==4.1.1 pandas<3 pyarrow msgspec fastavro polars numpy pyroaring cramjam deflate backports.zstd obstore sqlalchemy \
                  pytest hypothesis duckdb==1.5.5
PEER_sail      := pysail==0.7.2 pyspark-client==4.2.0 pandas<3 pyarrow
PEER_flink     := apache-flink==2.1.1
PEER_pyiceberg := pyiceberg[pyarrow,hive,sql-sqlite,pandas,polars,pyiceberg-core]==0.12.0 pyspark==4.1.1 pandas<3 pytest==9.1.1 \
                  pytest-lazy-fixtures==1.4.0 pytest-mock==3.15.1 requests-mock==1.12.1 fsspec boto3 moto fastavro pytz duckdb==1.5.5 \
                  grpcio grpcio-status googleapis-common-protos zstandard

$(PEERS)/%/ready: Makefile
	@echo "making the peer $* …"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet $(foreach need,$(PEER_$*),"$(need)")
	@touch $@

# pyspark 4.1 leaves it to the garbage collector to close its sockets. Servers of HTTP are not installed beside it.
test-spark41: java $(PEERS)/spark41/ready ## run the marked core on pyspark 4.1
	FLOEBERG_SPARK=core PYTHONPATH=src $(if $(RAM),TMPDIR=$(RAM)) $(PEERS)/spark41/bin/python -m pytest -W ignore::ResourceWarning -m "connect and not s3" \
	  $(foreach file,test_s3 test_rest_catalogs test_vended_credentials,--ignore-glob="*/$(file).py") tests/spark

soak: java $(STAMP) ## ten minutes of a stream, two MERGE writers and maintenance on one table, checked by a model
	PYTHONPATH=tests $(if $(RAM),TMPDIR=$(RAM)) $(BIN)/python -m spark_runs.soak --minutes $(or $(MINUTES),10)

interop-peers: java $(STAMP) $(PEERS)/core/ready $(PEERS)/sail/ready ## other readers open what we commit, in environments of their own
	$(PYTEST) -m peers tests/interop

interop-java: $(STAMP) ## the Java library opens what we commit and we what it commits (needs Java and Maven)
	@if command -v mvn >/dev/null && command -v java >/dev/null; then $(MAKE) --no-print-directory $(PEERS)/java/ready; \
	  else echo "SKIPPED: the Java library is fetched by Maven and runs on Java, and one of them is not installed here"; fi
	$(PYTEST) -m java tests/interop

java-pairs: $(STAMP) ## all 120 pairs of an operation of ours and one of the Java runtime, each held for the other (long; needs Maven)
	FLOEBERG_JAVA_PAIRS=1 $(PYTEST) -q -s tests/interop/test_java_beside_maintenance.py

# REST catalog servers of others, by Maven: the Java reference server as a class path, Nessie as one jar.
SERVERS := .cache/servers
MAVEN_DEPENDENCIES := org.apache.maven.plugins:maven-dependency-plugin:3.8.1

$(SERVERS)/iceberg-rest/cp.txt: tests/servers/maven/iceberg-rest.xml
	@mkdir -p $(@D)
	@mvn -B -q -f $< $(MAVEN_DEPENDENCIES):build-classpath -Dmdep.outputFile=$(abspath $@)

$(SERVERS)/nessie/nessie-quarkus-0.99.0-runner.jar:
	@mkdir -p $(@D)
	@mvn -B -q $(MAVEN_DEPENDENCIES):copy -Dartifact=org.projectnessie.nessie:nessie-quarkus:0.99.0:jar:runner -DoutputDirectory=$(abspath $(@D))

test-servers: $(STAMP) ## the client of REST catalogs against servers of others (needs Java and Maven)
	@if command -v mvn >/dev/null && command -v java >/dev/null; then \
	  $(MAKE) --no-print-directory $(SERVERS)/iceberg-rest/cp.txt $(SERVERS)/nessie/nessie-quarkus-0.99.0-runner.jar; \
	  else echo "SKIPPED: the servers are fetched by Maven and run on Java, and one of them is not installed here"; fi
	$(PYTEST) -m servers tests/servers_contract

# Engines of others as clients of our server. Trino's jars are 700 MB and come from Maven, Flink's from PyPI and Maven.
HAS_MAVEN = command -v mvn >/dev/null && command -v java >/dev/null
NO_MAVEN  = echo "SKIPPED: Maven fetches it and Java runs it, and one of them is not installed here"

$(SERVERS)/trino/%.txt: tests/servers/maven/trino-%.xml
	@mkdir -p $(@D)
	@mvn -B -q -f $< $(MAVEN_DEPENDENCIES):build-classpath -Dmdep.outputFile=$(abspath $@)

test-trino: $(STAMP) ## Trino as a client of our server (needs Maven and Java 24 or newer; fetches much)
	@if $(HAS_MAVEN); then $(MAKE) --no-print-directory $(foreach part,main iceberg hdfs,$(SERVERS)/trino/$(part).txt); else $(NO_MAVEN); fi
	$(PYTEST) tests/engines/test_trino.py

$(PEERS)/flink/jars: tests/servers/maven/flink.xml $(PEERS)/flink/ready
	@mvn -B -q -f $< $(MAVEN_DEPENDENCIES):copy-dependencies -DexcludeTransitive=true \
	  -DoutputDirectory=$$($(@D)/bin/python -c "import pyflink; print(pyflink.__path__[0])")/lib
	@touch $@

test-flink: $(STAMP) ## Flink as a client of our server (needs Java and Maven; fetches much)
	@if $(HAS_MAVEN); then $(MAKE) --no-print-directory $(PEERS)/flink/jars; else $(NO_MAVEN); fi
	$(PYTEST) tests/engines/test_flink.py

# The source distribution holds the tests.
PYICEBERG_SOURCE := $(PEERS)/pyiceberg/source/pyiceberg-0.12.0
$(PYICEBERG_SOURCE): | $(PEERS)/pyiceberg/ready
	@$(PEERS)/pyiceberg/bin/python -m pip download --quiet --no-deps --no-binary pyiceberg --dest $(@D) pyiceberg==0.12.0
	@tar -xzf $@.tar.gz -C $(@D)

test-pyiceberg: $(STAMP) ## PyIceberg's own integration tests against our server (long; needs Java and Maven)
	@if $(HAS_MAVEN); then $(MAKE) --no-print-directory $(PYICEBERG_SOURCE); else $(NO_MAVEN); fi
	@if $(HAS_MAVEN); then PYTHONPATH=tests $(if $(RAM),TMPDIR=$(RAM)) $(BIN)/python -m pyiceberg_suite.run $(PYICEBERG_SOURCE); fi

# Playwright drives a Chromium that is there; its own browsers are not fetched.
BROWSER := .cache/browser

$(BROWSER)/playwright/ready: Makefile
	@$(BIN)/python -m pip install --quiet --upgrade --target $(@D) playwright==1.65.0
	@touch $@

test-browser: $(STAMP) ## the server's page in Chromium, every view clicked through
	@if chromium=$$(sh tools/chromium.sh $(abspath $(BROWSER))) && $(MAKE) --no-print-directory $(BROWSER)/playwright/ready; then \
	  FLOEBERG_CHROMIUM="$$chromium" PYTHONPATH=$(BROWSER)/playwright $(PYTEST) -q tests/server/test_browser.py; \
	  else echo "SKIPPED: the page is tested in a browser by Playwright (PyPI) and Chromium (Debian), and one of them is not to be had here"; fi

check: $(STAMP) ## lint, types, layers, public API, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/public_api.py --check
	$(BIN)/python tools/unused_code.py
	$(BIN)/python -W error::DeprecationWarning -m mkdocs build --strict --quiet --site-dir site

format: $(STAMP) ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

api-update: $(STAMP) ## write the public API as it is now into docs/reference/public-api.txt
	$(BIN)/python tools/public_api.py --write

docs: $(STAMP) ## build the documentation into site/
	$(BIN)/python -m mkdocs build --strict --quiet --site-dir site

demo: $(STAMP) ## run the main job: a table's story, start to end, and a pipeline of streams
	@$(BIN)/python examples/demo.py

# Spark's Kafka connector is to be had for PySpark 4.1.
demo-cdc: java $(PEERS)/spark41/ready ## PostgreSQL → Debezium → Kafka → Spark → a table, with real servers (needs Maven and PostgreSQL)
	@PYTHONPATH=src $(PEERS)/spark41/bin/python examples/cdc_from_postgres/run.py

test-kills: $(STAMP) ## 8 processes of 50 commits each through a server that is killed and restarted, on SQLite and PostgreSQL (long)
	FLOEBERG_KILL_WORKERS=8 FLOEBERG_KILL_COMMITS=50 FLOEBERG_KILLS=10 $(PYTEST) -q tests/server/test_kills.py

test-stream-kills: java $(STAMP) ## the example pipeline, killed at 50 random moments and started again (long)
	FLOEBERG_STREAM_KILLS=50 $(PYTEST) -q tests/spark/streaming/test_killed_pipeline.py tests/spark/streaming/test_exactly_once.py

model: java $(STAMP) ## 500 random sequences of row-level changes on Spark against a model (long)
	FLOEBERG_MODEL_SEQUENCES=500 $(PYTEST) -q tests/spark/dml/test_row_level_model.py

joins: java $(STAMP) ## 500 random joins with and without join pruning against plain Spark (long)
	FLOEBERG_JOIN_WORLDS=50 $(PYTEST) -q -s tests/spark/sql/test_join_pruning.py tests/spark/sql/test_join_pruning_files.py

tpcds: java $(STAMP) ## the 99 queries of TPC-DS at scale 1 against plain Spark (long)
	FLOEBERG_TPCDS_SCALE=1 FLOEBERG_SPARK_MEMORY=4g $(PYTEST) -q tests/spark/test_tpcds.py

tpcds-plain: java $(STAMP) ## run TPC-DS on plain Spark and keep the digests of its results, which the tests compare with
	PYTHONPATH=tests $(if $(RAM),TMPDIR=$(RAM)) $(BIN)/python -m tpcds.results

bench: $(STAMP) ## run every benchmark (long)
	$(BIN)/python -m bench

bench-spark: java $(STAMP) $(PEERS)/spark41/ready $(PEERS)/sail/ready ## benchmarks on Spark beside the Java runtime (long; needs Maven)
	$(BIN)/python -m bench.spark_scan --sail
	$(BIN)/python -m bench.spark_write
	$(BIN)/python -m bench.row_level
	$(BIN)/python -m bench.compact

sim: $(STAMP) ## play N random histories of concurrent writers, from seed FIRST on
	$(BIN)/python -m floeberg.testing.simulate --histories $(N) --first $(FIRST)

maintenance-model: java $(STAMP) ## 15 random sequences of statements and maintenance on Spark against a model (long)
	FLOEBERG_MAINTENANCE_SEQUENCES=15 $(PYTEST) -q tests/spark/procedures/test_random_maintenance.py

sim-maintenance: $(STAMP) ## play 1,000 random histories of writes and maintenance, from seed FIRST on
	$(BIN)/python -m floeberg.testing.maintenance_history --histories 1000 --first $(FIRST)

lock: ## resolve requirements.lock anew from pyproject.toml
	$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip install --quiet uv
	$(VENV)-lock/bin/uv pip compile pyproject.toml --all-extras --group dev --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-header --universal --python-version 3.11 --upgrade --output-file requirements.lock --quiet
	rm -rf $(VENV)-lock

clean: ## remove what the targets made
	rm -rf $(VENV) site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .cache
