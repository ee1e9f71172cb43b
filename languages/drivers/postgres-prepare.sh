# Makes the files of an empty server once, as small as possible: every run copies them into its
# memory.
# postgres-prepare.sh BIN TARGET
set -eu
bin=$1 target=$2
data=${TMPDIR:-/tmp}/data log=${TMPDIR:-/tmp}/log

must() {
    "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
}

# Runs statements, one per line, in the server's single-user mode.
single_user() {
    must "$bin/postgres" --single -j -D "$data" -c fsync=off -c max_wal_size=2MB "$1"
}

must "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --wal-segsize=1 \
    --no-sync --no-instructions

# template0 is a spare copy of template1, which no program can have changed here.
single_user postgres <<'END'
UPDATE pg_database SET datistemplate = false, datallowconn = true WHERE datname = 'template0';

DROP DATABASE template0;

VACUUM FULL;

END
single_user template1 <<'END'
VACUUM FULL;

END
must "$bin/pg_resetwal" -f -D "$data"
rm -rf "$data"/pg_stat/* "$data"/pg_logical/replorigin_checkpoint

# Nothing survives the run, so no data must survive a crash.  No background services: a script of a
# few seconds does not need them.
cat >"$data/postgresql.conf" <<'END'
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 32
shared_buffers = 16MB
huge_pages = off
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 32MB
min_wal_size = 2MB
autovacuum = off
max_logical_replication_workers = 0
jit = off
update_process_title = off
log_min_messages = fatal
log_timezone = 'UTC'
timezone = 'UTC'
datestyle = 'iso, mdy'
default_text_search_config = 'pg_catalog.english'
END

# template1 (base/1) is needed later than the rest: see postgres-run.sh.
tar -C "$data" -cf "$target/template.tar" --exclude=./base/1 .
tar -C "$data" -cf "$target/template1.tar" ./base/1
