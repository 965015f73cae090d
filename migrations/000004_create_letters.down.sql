DROP TABLE letter_api_keys, letter_refusals, letter_nonces, letters, letter_one_time_keys, letter_mailboxes;
