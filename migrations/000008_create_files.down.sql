DROP TABLE files, file_leftovers;
DROP FUNCTION files_leave_bytes();
