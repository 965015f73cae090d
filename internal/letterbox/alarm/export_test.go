package alarm

// For tests.
var (
	NudgeCodex   = nudgeCodex
	ErrStandDown = errStandDown
)
