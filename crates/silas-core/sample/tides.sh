#!/bin/sh
# Prints when the water is high, by the harbour's own clock.
# usage: sh tides.sh 2026-07-15

day=$1
month=$(echo "$day" | cut -d- -f2)

# How many hours the harbour's clock
# is ahead of UTC, by the month.
case $month in
  0[4-9] | 10) ahead=1 ;; # summer
  *) ahead=1 ;; # winter
esac

# Each line of the table is a day and a time in UTC.
sed -n "s/^$day //p" high-water.txt | while IFS=: read -r hour minute; do
  hour=$(((${hour#0} + ahead) % 24))
  printf '%02d:%s\n' "$hour" "$minute"
done
