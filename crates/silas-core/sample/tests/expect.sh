# What the tests have in common: expect NAME DAY TIMES. It says what it found
# in the Test Anything Protocol, so that others can count it.

expect() {
    shown=$(sh tides.sh "$2" | tr '\n' ' ')
    echo "1..1"
    if [ "$shown" = "$3 " ]; then
        echo "ok 1 - $1"
    else
        echo "not ok 1 - $1"
        echo "# high water on $2 should be at $3, but tides.sh says $shown"
        exit 1
    fi
}
