#!/bin/sh
# Runs a job on exactly one of three nodes on this machine, and shows it move: the leader is killed, then
# asked to resign. This is what `make run-job` runs. The argument is the program electd.
set -eu

electd=$1
folder=$(mktemp -d)
end() {
    for file in "$folder"/*.pid; do kill "$(cat "$file")" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 130' INT TERM

job='echo "  job: begins on $ELECTD_NODE in epoch $ELECTD_EPOCH"
trap "echo \"  job: ends on $ELECTD_NODE\"; exit" TERM
while :; do sleep 0.1; done'

"$electd" init --nodes 3 --quorum majority --base-port "${PORT:-7301}" --out "$folder/cluster.json" 2>/dev/null
for node in node-1 node-2 node-3; do
    "$electd" run --config "$folder/cluster.json" --node $node -- sh -c "$job" 2>"$folder/$node.log" &
    echo $! >"$folder/$node.pid"
done

leader() { "$electd" leader --config "$folder/cluster.json" 2>/dev/null | cut -d' ' -f1; }

# Waits until another node than this one leads.
next() {
    tries=0
    while now=$(leader); [ -z "$now" ] || [ "$now" = "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { echo "no new leader was seen; see the logs:"; cat "$folder"/*.log; exit 1; }
        sleep 0.1
    done
    sleep 0.5 # the job says so a moment later
}

echo "three nodes start; whoever leads runs the job"
next ""
first=$(leader)
echo "kill -9 of $first, which leads: its job is killed with it"
kill -9 "$(cat "$folder/$first.pid")"
next "$first"
second=$(leader)
echo "$second is asked to resign: its job ends first, then the next one begins"
"$electd" resign --config "$folder/cluster.json" >/dev/null || true
next "$second"
echo "all nodes end, and the job with them"
