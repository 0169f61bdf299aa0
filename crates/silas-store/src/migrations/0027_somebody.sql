-- What no device of the owner's had freshly signed was kept as the owner's. Answers to questions were signed, whatever the
-- words that were chosen.
UPDATE chronicle SET sender = 'somebody'
WHERE sender = 'owner' AND taint <> 'owner'
  AND id NOT IN (SELECT body ->> '$.message' FROM ledger WHERE event = 'question_answered' AND body ->> '$.message' IS NOT NULL);
