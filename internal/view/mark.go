package view

import "time"

// Mark is the last row of a page in a list from new to old: the next page is below it.
// Rows of one moment are in the order of their ids, so that none is missed between two
// pages; without an ID they are left out. The zero Mark is above all.
type Mark[I any] struct {
	At *time.Time
	ID I
}
