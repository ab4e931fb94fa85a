# What the tour is made of: printing, child processes, waiting for a metric or a page. Sourced by run, which sets `dir`,
# `children` and `exporter`. It must not start a server of its own accord.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

step() { printf '\n%s\n' "$*"; }
say() { printf '    %s\n' "$*"; }
fail() {
    printf '\nThe demo stops here: %s\n' "$1" >&2
    if [ -n "${2-}" ] && [ -s "$dir/$2.log" ]; then
        printf 'The last lines of the log of %s:\n' "$2" >&2
        tail -n 15 "$dir/$2.log" >&2
    fi
    exit 1
}

# Starts a program in a process group of its own, so that it and what it starts can be ended together.
start() { # NAME COMMAND...
    local name=$1
    shift
    setsid "$@" >"$dir/$name.log" 2>&1 </dev/null &
    children+=($!)
}

# Hundredths of a second on the machine's monotonic clock.
hundredths() {
    local now
    read -r now _ </proc/uptime
    echo $((10#${now/./}))
}
seconds() { printf '%d.%d s' $(($1 / 100)) $(($1 % 100 / 10)); }

# The body of an answer of the exporter, or of what listens on another port; nothing if it does not answer with 200.
get() { # PATH [PORT]
    # shellcheck disable=SC2016 # the inner bash expands its own arguments
    timeout 3 bash -c '
        exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
        printf "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n" "$2" >&3
        read -r _ status _ <&3 && [ "$status" = 200 ] && sed "1,/^\r*\$/d" <&3' _ "${2-$port}" "$1" 2>/dev/null
}

# The value of the first sample with that name and that text among its labels.
value() { # NAME LABEL
    get /metrics | awk -v name="$1{" -v label="$2" 'index($0, name) == 1 && index($0, label) { print $NF; exit }'
}

# Waits until the sample is at least (or with "below", under) the wanted value; `took` is how long that was, in hundredths.
took=0
wait_until() { # LIMIT(hundredths) NAME LABEL at_least|below NUMBER
    local begun now seen
    begun=$(hundredths)
    while :; do
        kill -0 "$exporter" 2>/dev/null || fail "the exporter ended by itself." exporter
        seen=$(value "$2" "$3" || true)
        now=$(hundredths)
        took=$((now - begun))
        if [ -n "$seen" ] && awk -v seen="$seen" -v want="$5" -v how="$4" \
            'BEGIN { exit !(how == "below" ? seen < want : seen >= want) }'; then
            return 0
        fi
        if [ $took -gt "$1" ]; then return 1; fi
        sleep 0.1
    done
}

wrong=()
grace=100 # one scrape of this script and a busy machine, on top of the worst delay that the verdicts allow
expect() { # NAME LABEL at_least|below NUMBER WORST(hundredths) SINCE(hundredths) TEXT
    local waited
    if wait_until $(($5 + 1000)) "$1" "$2" "$3" "$4"; then
        waited=$(($(hundredths) - $6))
        say "$7 after $(seconds $waited) (worst case $(seconds "$5"))"
        if [ $waited -gt $(($5 + grace)) ]; then wrong+=("$1 came after $(seconds $waited), worst case $(seconds "$5")"); fi
    else
        wrong+=("$1{$2} did not become what it should: it is '$(value "$1" "$2" || true)'")
        say "$1: not seen"
    fi
}

# Waits until a server that this script started says that it is ready.
ready() { # NAME PROCESS PORT
    for _ in {1..100}; do
        kill -0 "$2" 2>/dev/null || fail "$1 ended by itself." "$1"
        if get /-/ready "$3" >/dev/null; then return 0; fi
        sleep 0.1
    done
    fail "$1 was not ready within 10 s." "$1"
}

# Waits until the webhook printed a line that fits.
expect_page() { # PATTERN WORST(hundredths) SINCE(hundredths) TEXT
    local waited
    while :; do
        waited=$(($(hundredths) - $3))
        if grep -Eq "$1" "$dir/webhook.log"; then break; fi
        if [ $waited -gt $(($2 + 1000)) ]; then
            wrong+=("no notification came that fits '$1'")
            say "$4: no notification came"
            return 0
        fi
        sleep 0.1
    done
    say "$4 after $(seconds $waited) (worst case $(seconds "$2"))"
    if [ $waited -gt $(($2 + grace)) ]; then wrong+=("$4 came after $(seconds $waited), worst case $(seconds "$2")"); fi
}

# Lines of /metrics worth a look, those of one-hot families only where they are 1.
show() { # PATTERN
    get /metrics | grep -E "^($1)[{ ]" | grep -Ev '^dlock_(store_role|holder_liveness)\{.* 0$' | sed 's/^/    /' || true
}
