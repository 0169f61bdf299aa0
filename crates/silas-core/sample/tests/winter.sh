# In January it is one hour ahead.
. tests/expect.sh
expect winter 2026-01-15 "03:05 15:31"
