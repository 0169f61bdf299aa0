# An hour past 23 o'clock begins again at 00.
. tests/expect.sh
expect midnight 2026-02-01 "11:48 00:20"
