// Package present turns rows and events into wire shapes: the only place where
// names become camelCase. Pure functions, a file per feature.
package present
