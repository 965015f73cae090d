package account

import (
	"encoding/json"
	"time"
)

// Location is where a person said that they are, as the column keeps it: degrees
// (WGS 84) and metres.
type Location struct {
	Latitude  float64   `json:"latitude"`
	Longitude float64   `json:"longitude"`
	Accuracy  *float64  `json:"accuracy,omitempty"`
	Timestamp time.Time `json:"timestamp"` // when they said so
}

// Place is where the person is, if they have said so.
func (a Account) Place() (l Location, ok bool) {
	return l, a.Location != nil && json.Unmarshal(*a.Location, &l) == nil && !l.Timestamp.IsZero()
}
