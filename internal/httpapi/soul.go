package httpapi

import (
	"net/http"
	"strconv"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/wire"
)

// soulHistory is ours: what an agent was before (row K9).
func (a Agent) soulHistory(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	now, list, err := a.Identity.SoulHistory(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	out := wire.SoulHistory{SoulMD: now, History: make([]wire.SoulVersion, len(list))}
	for n, v := range list {
		out.History[n] = wire.SoulVersion{ID: strconv.FormatInt(v.ID, 10), SoulMD: v.SoulMD, ReplacedByName: v.ReplacedByName, ReplacedAt: wire.At(v.InsertedAt)}
		if !v.ReplacedBy.IsZero() {
			out.History[n].ReplacedBy = new(v.ReplacedBy.String())
		}
	}
	return httpx.JSON(w, http.StatusOK, out)
}

// revertSoul answers the agent with an earlier soul in force (desktop 4.10).
func (a Agent) revertSoul(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	var in wire.SoulRevert
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	var version int64
	if in.Version != "" {
		if version, err = strconv.ParseInt(in.Version, 10, 64); err != nil || version < 1 {
			return fault.New(fault.Invalid, "invalid", "This is no version of a soul.").With("version", "format", "an id of the history")
		}
	}
	v, err := a.Identity.RevertSoul(r.Context(), httpx.Actor(r.Context()), aid, version)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, a.present(v, true))
}

// trust tells an agent which other agents it may listen to: those of its owner, who
// listen to it as well (bridge 2.12).
func (a Agent) trust(w http.ResponseWriter, r *http.Request) error {
	list, err := a.Identity.Family(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	all := make([]wire.TrustedAgent, len(list))
	for n, k := range list {
		all[n] = wire.TrustedAgent{ID: k.ID.String(), Type: "agent", DisplayName: k.Name}
	}
	return httpx.JSON(w, http.StatusOK, wire.AgentTrust{Trusted: all, TrustedBy: all})
}
