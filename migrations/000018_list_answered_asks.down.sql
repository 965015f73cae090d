DROP INDEX asks_history_idx;
