package store

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Group is a roster. It is this side's own: other members may have another one and another name for it.
type Group struct {
	ID      string
	Name    string
	Members []string // addresses, without the owner
}

// Groups are all, by name.
func (t *Tx) Groups() ([]Group, error) {
	return all(t, sqlGroups, nil, func(row func(...any) error) (g Group, err error) {
		var members string
		if err := row(&g.ID, &g.Name, &members); err != nil {
			return g, err
		}
		if json.Unmarshal([]byte(members), &g.Members) != nil {
			return g, ErrDamaged
		}
		return g, nil
	})
}

// Group finds a group by its name.
func (t *Tx) Group(name string) (Group, bool, error) {
	return t.findGroup(func(g Group) bool { return g.Name == name })
}

// GroupByID finds a group.
func (t *Tx) GroupByID(gid string) (Group, bool, error) {
	return t.findGroup(func(g Group) bool { return g.ID == gid })
}

func (t *Tx) findGroup(is func(Group) bool) (g Group, ok bool, err error) {
	list, err := t.Groups()
	if err != nil {
		return g, false, err
	}
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true, nil
	}
	return g, false, nil
}

// FreeGroupName is name, or name-2, name-3, … when another group than gid has it.
func (t *Tx) FreeGroupName(gid, name string) (string, error) {
	list, err := t.Groups()
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, g := range list {
		if g.ID != gid {
			taken[g.Name] = true
		}
	}
	free := name
	for n := 2; taken[free]; n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return free, nil
}

// SaveGroup adds or replaces a group.
func (t *Tx) SaveGroup(g Group) error {
	if g.Members == nil {
		g.Members = []string{}
	}
	members, err := json.Marshal(g.Members)
	if err != nil {
		return err
	}
	return t.exec(sqlSaveGroup, g.ID, g.Name, string(members), t.now)
}

// RemoveGroup forgets a group.
func (t *Tx) RemoveGroup(gid string) error { return t.exec(sqlRemoveGroup, gid) }

// Leave forgets a group and remembers that it was left: letters to it are refused.
func (t *Tx) Leave(g Group) error {
	if err := t.exec(sqlLeave, g.ID, g.Name, t.now); err != nil {
		return err
	}
	return t.RemoveGroup(g.ID)
}

// HasLeft says whether a group was left.
func (t *Tx) HasLeft(gid string) (bool, error) {
	var n int
	return t.one(sqlHasLeft, []any{gid}, []any{&n})
}

// Left are the groups that were left, the latest first; only ID and Name are set.
func (t *Tx) Left() ([]Group, error) {
	return all(t, sqlLeftGroups, nil, func(row func(...any) error) (g Group, err error) { return g, row(&g.ID, &g.Name) })
}

// Rejoin lets letters to a group in again.
func (t *Tx) Rejoin(gid string) error { return t.exec(sqlRejoin, gid) }

// Kinds of invite.
const (
	Single    = "single"
	Permanent = "permanent"
)

// Invite is a code that lets a stranger become a contact.
type Invite struct {
	Code    string
	Kind    string  // Single or Permanent
	Peer    string  // the name its user gets, empty for the one of the user's card
	Created float64 // Unix seconds
	Expires float64 // 0 for never
	Uses    int
	UsedBy  []string
	Revoked bool
}

// Active says whether the code would be accepted from somebody new at a time.
func (i Invite) Active(now float64) bool {
	return !i.Revoked && (i.Expires == 0 || now < i.Expires) && (i.Kind == Permanent || i.Uses == 0)
}

// Invites are all, oldest first.
func (t *Tx) Invites() ([]Invite, error) {
	return all(t, sqlInvites, nil, func(row func(...any) error) (i Invite, err error) {
		var used string
		var expires *float64
		if err := row(&i.Code, &i.Kind, &i.Peer, &i.Created, &expires, &i.Uses, &used, &i.Revoked); err != nil {
			return i, err
		}
		if expires != nil {
			i.Expires = *expires
		}
		if json.Unmarshal([]byte(used), &i.UsedBy) != nil {
			return i, ErrDamaged
		}
		return i, nil
	})
}

// AddInvite keeps a new code.
func (t *Tx) AddInvite(i Invite) error {
	var expires any
	if i.Expires != 0 {
		expires = i.Expires
	}
	return t.exec(sqlAddInvite, i.Code, i.Kind, i.Peer, i.Created, expires)
}

// RestoreInvite keeps a code that was used elsewhere before.
func (t *Tx) RestoreInvite(i Invite) error {
	if i.UsedBy == nil {
		i.UsedBy = []string{}
	}
	used, err := json.Marshal(i.UsedBy)
	if err != nil {
		return err
	}
	if err := t.AddInvite(i); err != nil {
		return err
	}
	return t.exec(sqlRestoreUse, i.Uses, string(used), i.Revoked, i.Code)
}

// RevokeInvite says whether there is such a code.
func (t *Tx) RevokeInvite(code string) (bool, error) { return t.changed(sqlRevokeInvite, code) }

// Use is what became of a code that somebody gave.
type Use string

// The outcomes (contract letters 2.9).
const (
	UseOK        Use = "ok"
	UseDuplicate Use = "duplicate" // the same user again: nothing changed
	UseUnknown   Use = "unknown-code"
	UseRevoked   Use = "revoked"
	UseExpired   Use = "expired"
	UseConsumed  Use = "consumed"
)

// UseInvite spends a code for an address.
func (t *Tx) UseInvite(code, address string) (Invite, Use, error) {
	list, err := t.Invites()
	if err != nil {
		return Invite{}, "", err
	}
	i := slices.IndexFunc(list, func(i Invite) bool { return i.Code == code })
	if i < 0 {
		return Invite{}, UseUnknown, nil
	}
	inv := list[i]
	switch {
	case slices.Contains(inv.UsedBy, address):
		return inv, UseDuplicate, nil
	case inv.Revoked:
		return inv, UseRevoked, nil
	case inv.Expires != 0 && t.now >= inv.Expires:
		return inv, UseExpired, nil
	case inv.Kind == Single && inv.Uses > 0:
		return inv, UseConsumed, nil
	}
	used, err := json.Marshal(append(inv.UsedBy, address))
	if err != nil {
		return inv, "", err
	}
	return inv, UseOK, t.exec(sqlUseInvite, string(used), code)
}
