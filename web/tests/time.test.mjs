// Until when something is allowed, in words that cannot be taken for another day.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { learnServerTime, until } from '../lib/time.js';

// A Monday, by the clock of whoever reads.
const at = (day, hour, minute = 0) => new Date(2026, 10, day, hour, minute).toISOString();

test('an end names its day unless it is today', () => {
  learnServerTime(at(16, 14, 56));
  assert.equal(until(at(16, 23, 48)), '23:48');
  assert.equal(until(at(17, 14, 48)), 'tomorrow 14:48', 'within 24 hours, and not today');
  assert.equal(until(at(17, 23, 59)), 'tomorrow 23:59');
  assert.equal(until(at(18, 0, 1)), 'Wednesday');
  assert.equal(until(at(22, 23)), 'Sunday');
  assert.equal(until(at(23, 1)), '23 November', 'the same weekday again would be taken for today');
  assert.equal(until(new Date(2027, 0, 3, 12).toISOString()), '3 January 2027');
  assert.equal(until(at(15, 14, 48)), 'yesterday 14:48', 'over, and still listed');
});
