package install

// SetTables is for tests.
var SetTables = setTables
