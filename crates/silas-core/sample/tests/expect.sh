# What the tests have in common: expect NAME DAY TIMES

expect() {
    shown=$(sh tides.sh "$2" | tr '\n' ' ')
    if [ "$shown" = "$3 " ]; then
        echo "$1: ok"
    else
        echo "$1: high water on $2 should be at $3, but tides.sh says $shown"
        exit 1
    fi
}
