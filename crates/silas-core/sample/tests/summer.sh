# In July the harbour's clock is two hours ahead of UTC.
. tests/expect.sh
expect summer 2026-07-15 "05:12 17:37"
