package task

import (
	"maps"
	"slices"

	"github.com/agntchat/agntchat/internal/fault"
)

// Event is what happens to a task.
type Event string

// The events.
const (
	Accept    Event = "accept"   // somebody takes it on
	Start     Event = "start"    // work has begun
	Park      Event = "park"     // it waits for an answer, a sub-task or a person
	Wake      Event = "wake"     // what it waited for has come: it is to be run again
	Requeue   Event = "requeue"  // its run is gone: it is to be run again
	Reassign  Event = "reassign" // somebody else is to do it
	Finish    Event = "complete" // done
	Fail      Event = "fail"     // cannot be done
	Cancel    Event = "cancel"   // not wanted any more
	Reject    Event = "reject"   // refused by who should do it
	Exhaust   Event = "exhaust"  // tried often enough
	ParkAgain Event = "park_as"  // blocked becomes waiting, or the other way round
	Resume    Event = "resume"   // a person goes on with a task of their own
)

// matrix is every transition there is: event → from → to. The target of Park and
// ParkAgain is either parked state; the matrix names blocked, and the caller may choose waiting.
var matrix = map[Event]map[Status]Status{
	Accept:    {Pending: Accepted},
	Start:     {Pending: InProgress, Accepted: InProgress},
	Park:      {Accepted: Blocked, InProgress: Blocked},
	ParkAgain: {Blocked: Blocked, Waiting: Blocked},
	Wake:      {Blocked: Pending, Waiting: Pending},
	Resume:    {Blocked: InProgress, Waiting: InProgress},
	Requeue:   {Accepted: Pending, InProgress: Pending},
	Reassign:  {Pending: Pending, Accepted: Pending, InProgress: Pending, Blocked: Pending, Waiting: Pending},
	Finish:    open(Complete),
	Fail:      open(Failed),
	Cancel:    open(Cancelled),
	Reject:    {Pending: Rejected, Accepted: Rejected},
	Exhaust:   {Pending: Exhausted, Accepted: Exhausted, InProgress: Exhausted},
}

// open leads from every state that has not ended. A late report of a run that the
// queue took back still ends the task: the work is done.
func open(to Status) map[Status]Status {
	return map[Status]Status{Pending: to, Accepted: to, InProgress: to, Blocked: to, Waiting: to}
}

// Next is where an event leads from a state. ErrEnded when it has ended, a
// Conflict with the code illegal_transition when the event does not fit.
func Next(from Status, e Event) (Status, error) {
	to, ok := matrix[e][from]
	switch {
	case ok:
		return to, nil
	case from.Ended():
		return from, ErrEnded
	default:
		return from, fault.Newf(fault.Conflict, "illegal_transition", "A task that is %s cannot do this: %s.", from, e)
	}
}

// Events are all events, sorted.
func Events() []Event { return slices.Sorted(maps.Keys(matrix)) }
