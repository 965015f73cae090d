DROP TABLE agent_letter_addresses;
