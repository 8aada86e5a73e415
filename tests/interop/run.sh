#!/bin/sh
# Tries electd with the real tools that operators run beside it: run.sh PROGRAM VERSION. `make interop` calls it.
# It starts three nodes on this machine, says which tools are missing, and ends with 1 if something does not work.
set -u
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
mkdir "$dir/bin"
cp "$1" "$dir/bin/electd"
electd=$dir/bin/electd version=$2
failed=0
pids=

finish() {
    for pid in $pids; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '%-8s %s\n' "$1" "$2"; }
ok() { say ok "$1"; }
bad() { say FAILED "$1"; failed=1; }

# Whether this tool is installed; says so if it is not.
has() {
    command -v "$1" >/dev/null && return
    say missing "$1: $2"
    return 1
}

# Runs a command until it succeeds, for ten seconds at most.
await() {
    tries=100
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.1
    done
}

# Runs a command in the background, and remembers it.
background() {
    "$@" >>"$dir/log" 2>&1 &
    pids="$pids $!"
    last=$!
}

leader() { "$electd" leader --config "$dir/cluster.json" --output json | sed -n 's/.*"name": "\(.*\)".*/\1/p' | head -n 1; }
leads() { [ "$(leader)" = "$1" ]; }

"$electd" init --nodes 3 --out "$dir/cluster.json" >/dev/null 2>&1 || { bad "electd init"; exit 1; }
for node in node-1 node-2 node-3; do
    background "$electd" run --config "$dir/cluster.json" --node $node
    eval "pid_$(echo $node | tr - _)=$last"
done
if await leads node-3; then ok "three nodes run, and node-3 leads"; else bad "three nodes elect node-3"; exit 1; fi

if has curl "GET /events as a stream"; then
    id=$(curl -s http://127.0.0.1:7201/status | sed -n 's/.*"last_event": *"\([^"]*\)".*/\1/p')
    first=$(curl -sN --max-time 1 http://127.0.0.1:7201/events -H 'Last-Event-ID: 1-0' | grep -m 1 '^event: ')
    case $first in event:*) ok "curl -N reads events: $first" ;; *) bad "curl reads no event after 1-0 (last $id)" ;; esac
    curl -fs http://127.0.0.1:7203/leader >/dev/null && ! curl -fs http://127.0.0.1:7201/leader >/dev/null \
        && ok "curl -f /leader holds at the leader alone" || bad "curl -f /leader"
fi

if has promtool "the alert rules and their tests"; then
    (cd examples/prometheus && promtool check rules electd-rules.yml && promtool test rules electd-rules-test.yml) \
        >"$dir/promtool" 2>&1 && ok "promtool takes the rules, and their tests pass" || { bad "promtool"; cat "$dir/promtool"; }
fi

if has prometheus "a scrape of /metrics" && has curl "a question to Prometheus"; then
    cat >"$dir/prometheus.yml" <<END
global: {scrape_interval: 1s}
rule_files: ["$PWD/examples/prometheus/electd-rules.yml"]
scrape_configs:
  - job_name: electd
    static_configs: [{targets: ["127.0.0.1:7201", "127.0.0.1:7202", "127.0.0.1:7203"], labels: {cluster: demo}}]
END
    background prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" \
        --web.listen-address=127.0.0.1:17290
    one_leads() {
        curl -s http://127.0.0.1:17290/api/v1/query --data-urlencode 'query=sum(electd_is_leader) == 1 and count(electd_is_leader) == 3' \
            | grep -q '"value":'
    }
    await one_leads && ok "Prometheus scrapes three nodes, one of which leads" || bad "Prometheus scrapes /metrics"
fi

if has promtool "the metrics" && has curl "their client"; then
    curl -s http://127.0.0.1:7201/metrics | promtool check metrics >"$dir/promtool" 2>&1 \
        && ok "promtool finds the metrics in order" || { bad "promtool check metrics"; cat "$dir/promtool"; }
fi

if has haproxy "a load balancer that follows the leader" && has curl "its client"; then
    cat >"$dir/haproxy.cfg" <<END
defaults
  mode http
  timeout connect 1s
  timeout client 10s
  timeout server 10s
frontend front
  bind 127.0.0.1:17280
  default_backend leader
backend leader
  option httpchk GET /leader
  http-check expect status 200
  default-server check inter 100ms fall 1 rise 1 on-marked-down shutdown-sessions
  server node-1 127.0.0.1:7201
  server node-2 127.0.0.1:7202
  server node-3 127.0.0.1:7203
END
    background haproxy -f "$dir/haproxy.cfg" -db
    served_by() { curl -fs --max-time 1 http://127.0.0.1:17280/leader | grep -q "\"name\": *\"$1\"" \
        && curl -fs --max-time 1 http://127.0.0.1:17280/leader >/dev/null; }
    await served_by node-3 && ok "HAProxy sends requests to node-3, which leads" || bad "HAProxy finds the leader"
    kill -9 "$pid_node_3"
    await leads node-2 && await served_by node-2 && ok "HAProxy follows to node-2 when node-3 is killed" \
        || bad "HAProxy follows the leader"

    # The same, where the admin addresses serve HTTPS. One server is said to be a member that it is not: it must not pass.
    mkdir "$dir/https"
    "$electd" init --nodes 3 --base-port 7301 --cluster secured --tls --out "$dir/https/cluster.json" >/dev/null 2>&1
    sed -i 's/"cluster":/"admin_tls": true, "cluster":/' "$dir/https/cluster.json"
    for node in node-1 node-2 node-3; do
        background "$electd" run --config "$dir/https/cluster.json" --node $node
        eval "secured_$(echo $node | tr - _)=$last"
    done
    cat >"$dir/haproxy-https.cfg" <<END
defaults
  mode http
  timeout connect 1s
  timeout client 10s
  timeout server 10s
frontend front
  bind 127.0.0.1:17281
  default_backend leader
frontend mistaken
  bind 127.0.0.1:17282
  default_backend mistaken
backend leader
  option httpchk GET /leader
  http-check expect status 200
  default-server check check-ssl verify required ca-file $dir/https/tls/ca.pem inter 100ms fall 1 rise 1 on-marked-down shutdown-sessions
  server node-1 127.0.0.1:17291 port 7401 verifyhost node-1
  server node-2 127.0.0.1:17292 port 7402 verifyhost node-2
  server node-3 127.0.0.1:17293 port 7403 verifyhost node-3
backend mistaken
  option httpchk GET /status
  http-check expect status 200
  default-server check check-ssl verify required ca-file $dir/https/tls/ca.pem inter 100ms fall 1 rise 1
  server node-1 127.0.0.1:17291 port 7401 verifyhost node-2
END
    # The services beside the nodes, which do not speak TLS.
    for number in 1 2 3; do
        printf 'frontend service-%s\n  bind 127.0.0.1:1729%s\n  http-request return status 200 content-type text/plain string node-%s\n' \
            $number $number $number >>"$dir/haproxy-https.cfg"
    done
    background haproxy -f "$dir/haproxy-https.cfg" -db
    # Every time: before its first checks HAProxy asks all servers by turns.
    served_securely_by() {
        for turn in 1 2 3 4 5 6; do [ "$(curl -fs --max-time 1 http://127.0.0.1:17281/)" = "$1" ] || return 1; done
    }
    refused() { [ "$(curl -s -o "$dir/none" -w '%{http_code}' http://127.0.0.1:17282/)" = 503 ]; }
    await served_securely_by node-3 && ok "HAProxy asks by HTTPS and finds node-3, which leads" || bad "HAProxy asks by HTTPS"
    await refused && ok "HAProxy takes no node whose certificate names another member" || bad "HAProxy takes another member's certificate"
    kill -9 "$secured_node_3"
    await served_securely_by node-2 && ok "HAProxy follows by HTTPS to node-2 when node-3 is killed" \
        || bad "HAProxy follows the leader by HTTPS"
fi

if has systemd-analyze "the unit"; then
    mkdir -p "$dir/units"
    sed "s|@BIN@|$(dirname "$electd")|" 'packaging/electd@.service' >"$dir/units/electd@.service"
    install -D -m 644 packaging/electd-realtime.conf "$dir/units/electd@.service.d/realtime.conf"
    SYSTEMD_UNIT_PATH="$dir/units:" systemd-analyze verify --man=no "$dir/units/electd@.service" 2>"$dir/verify"
    # Other units of this machine may have problems of their own.
    if grep -q 'electd@' "$dir/verify"; then bad "systemd-analyze verify"; grep 'electd@' "$dir/verify"; else
        ok "systemd-analyze verify has nothing to say of the unit"; fi
    figure=$(systemd-analyze security --offline=true "$dir/units/electd@.service" 2>/dev/null | tail -n 1)
    say note "systemd-analyze security: ${figure:-not told}"
    if has python3 "the system calls of the unit"; then
        "$electd" init --member confined=127.0.0.1:7501 --quorum none --data-dir data --out "$dir/confined.json" >/dev/null 2>&1
        sed -i "s/\"cluster\":/\"control_group\": \"$(id -g)\", \"cluster\":/" "$dir/confined.json"
        background python3 tests/interop/confined.py 'packaging/electd@.service' "$electd" run \
            --config "$dir/confined.json" --node confined
        confined_leads() { "$electd" leader --check --config "$dir/confined.json" --node confined; }
        if await confined_leads; then ok "a node runs with the system calls that the unit allows"
        elif kill "$last" 2>/dev/null; wait "$last"; [ $? = 75 ]; then say missing "the headers of the kernel (x86_64): the system calls of the unit"
        else bad "a node does not run with the system calls that the unit allows"; fi
    fi
fi

# The recipes of examples/, on hosts of namespaces, with a few faults each. Each says what it needs and lacks.
if has python3 "the recipes of examples/"; then
    for recipe in address:5 redis:5 postgresql:5 unit:4 container:3 power:2 lock-postgresql:5 lock-etcd:5; do
        python3 -B "tests/interop/${recipe%:*}.py" "$electd" "${recipe#*:}" >"$dir/recipe" 2>&1
        case $? in
            0) ok "examples/${recipe%:*}: $(tail -n 1 "$dir/recipe")" ;;
            75) cat "$dir/recipe" ;;
            *) bad "examples/${recipe%:*}"; cat "$dir/recipe" ;;
        esac
    done
fi

# Locks that engines decide on: each says which of them are missing.
if has python3 "PostgreSQL and etcd"; then
    for trial in "engines.py 15" engine_clocks.py engine_beside.py engine_load.py; do
        name=${trial%% *} count=${trial#"$name"}
        python3 -B "tests/interop/$name" "$electd" $count >"$dir/engines" 2>&1
        case $? in
            0) grep -v '^ ' "$dir/engines" ;;
            75) cat "$dir/engines" ;;
            *) bad "tests/interop/$name"; cat "$dir/engines" ;;
        esac
    done
fi

sh tests/interop/browser.sh "$electd" || failed=1

if has dpkg-deb "the package" && has dpkg "its installation"; then
    if package=$(sh packaging/deb.sh "$electd" "$version" "$dir"); then
        mkdir -p "$dir/root/var/lib/dpkg/info" "$dir/root/var/lib/dpkg/updates" "$dir/root/etc"
        : >"$dir/root/var/lib/dpkg/status"
        # The dependencies and the user belong to a whole system: here it is the files that are looked at.
        dpkg --root="$dir/root" --force-depends --force-script-chrootless --force-not-root --no-triggers --unpack \
            "$package" >"$dir/dpkg" 2>&1
        missing=
        for file in usr/bin/electd usr/lib/systemd/system/electd@.service usr/share/man/man1/electd.1.gz \
            usr/share/bash-completion/completions/electd usr/lib/sysusers.d/electd.conf \
            usr/share/doc/electd/examples/containers/cluster.json; do
            [ -s "$dir/root/$file" ] || missing="$missing $file"
        done
        [ -z "$missing" ] && ok "dpkg installs $(basename "$package") into an empty root" || { bad "dpkg: without$missing"; cat "$dir/dpkg"; }
        "$dir/root/usr/bin/electd" check --config "$dir/root/usr/share/doc/electd/examples/containers/cluster.json" >/dev/null \
            && ok "the packed program takes the packed example" || bad "the packed example"
    else
        bad "packaging/deb.sh"
    fi
fi
exit $failed
