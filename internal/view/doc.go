// Package view reads across domains: rows as a screen or an agent needs them.
// It holds SELECT statements only and owns no table.
package view
