# The servers of the tour. Sourced by run; each function starts some of them and waits until they answer. It must not judge.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

# Sets `primary`, `replica`, `port` and the ports of what tells people, all of them free a moment ago.
choose_ports() {
    local ports
    ports=$(python3 -c '
import socket
held = [socket.socket() for _ in range(6)]
for s in held: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))') || fail "the kernel gave no free ports."
    read -r primary replica port prometheus_port alertmanager_port webhook_port <<<"$ports"
}

redis() { # NAME PORT ARGUMENTS...
    mkdir "$dir/$1"
    start "redis-$1" redis-server --bind 127.0.0.1 --port "$2" --dir "$dir/$1" --save '' --appendonly no \
        --daemonize no --repl-diskless-sync-delay 0 "${@:3}"
}

start_redis() {
    redis primary "$primary"
    redis replica "$replica" --replicaof 127.0.0.1 "$primary"
    for _ in {1..100}; do
        if redis-cli -p "$replica" info replication 2>/dev/null | grep -q '^master_link_status:up'; then return 0; fi
        sleep 0.1
    done
    fail "the Redis replica did not connect to its primary within 10 s." redis-replica
}

worker() { # NAME LOCK ARGUMENTS...
    start "$1" "$drill" worker --redis "127.0.0.1:$primary" --name "$1" --lock "$2" --lease 6 --renew-every 2 \
        --beat-every 1 "${@:3}"
}

start_exporter() {
    local name
    for name in "${!DLOCK__@}"; do unset "$name"; done
    export DLOCK__STORES__MAIN__URL="redis://127.0.0.1:$primary"
    start exporter "$binary" --config.file "$here/dlock.yml" --web.listen-address "127.0.0.1:$port"
    exporter=${children[-1]}
    ready exporter "$exporter" "$port"
}

# Copies a shipped config with addresses and times of the demo in it. Fails if one of them is not there to be replaced.
adapt() { # FILE TO FROM=INTO...
    local text pair
    text=$(<"$1")
    for pair in "${@:3}"; do
        [[ $text == *"${pair%%=*}"* ]] || fail "$1 has no '${pair%%=*}', which the demo replaces."
        text=${text//"${pair%%=*}"/"${pair#*=}"}
    done
    printf '%s\n' "$text" >"$2"
}

# Prometheus with the rules and Alertmanager with the routes that are shipped, and a webhook in place of a pager.
start_monitoring() {
    start webhook python3 "$here/webhook.py" --port "$webhook_port"

    mkdir "$dir/alertmanager"
    adapt "$root/deploy/alertmanager/alertmanager.yml" "$dir/alertmanager/alertmanager.yml" \
        "127.0.0.1:9099=127.0.0.1:$webhook_port"
    start alertmanager prometheus-alertmanager --config.file="$dir/alertmanager/alertmanager.yml" \
        --storage.path="$dir/alertmanager/data" --web.listen-address="127.0.0.1:$alertmanager_port" \
        --cluster.listen-address= --log.level=warn
    alertmanager=${children[-1]}

    mkdir -p "$dir/prometheus/rules"
    cp "$root"/alerts/*.yml "$dir/prometheus/rules/"
    # Every second instead of every 15: a tour has no time. The rules take what the server's interval is.
    adapt "$root/deploy/prometheus/prometheus.yml" "$dir/prometheus/prometheus.yml" \
        "127.0.0.1:10121=127.0.0.1:$port" "127.0.0.1:9093=127.0.0.1:$alertmanager_port" \
        "scrape_interval: 15s=scrape_interval: 1s" "evaluation_interval: 15s=evaluation_interval: 1s" \
        "scrape_timeout: 5s=scrape_timeout: 1s"
    start prometheus prometheus --config.file="$dir/prometheus/prometheus.yml" \
        --storage.tsdb.path="$dir/prometheus/data" --web.listen-address="127.0.0.1:$prometheus_port" --log.level=warn
    prometheus=${children[-1]}
    ready alertmanager "$alertmanager" "$alertmanager_port"
    ready prometheus "$prometheus" "$prometheus_port"
}
