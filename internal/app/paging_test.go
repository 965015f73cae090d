package app_test

import (
	"fmt"
	"net/url"
	"testing"
)

// TestT1_PagesMissNoTask: tasks that changed at one moment, as the parts of a whole do,
// are all on one of the pages.
func TestT1_PagesMissNoTask(t *testing.T) {
	t.Parallel()
	w := newDeskWorld(t)
	const tasks = 5
	for n := range tasks {
		w.call(w.owner, "POST", "/api/conversations/"+w.room+"/tasks", map[string]any{"title": fmt.Sprintf("part %d", n), "assignedTo": []string{w.agentID}}, 201, nil)
	}
	if _, err := w.s.DB.Exec(t.Context(), `UPDATE tasks SET updated_at = '2026-01-01'`); err != nil {
		t.Fatal(err)
	}
	seen, below := map[string]bool{}, ""
	for more := true; more; {
		var page struct {
			Tasks   []struct{ ID, UpdatedAt string }
			HasMore bool
		}
		w.call(w.owner, "GET", "/api/tasks?limit=2"+below, nil, 200, &page)
		for _, one := range page.Tasks {
			if seen[one.ID] {
				t.Errorf("%s is there twice", one.ID)
			}
			seen[one.ID] = true
			below = "&before=" + url.QueryEscape(one.UpdatedAt) + "&beforeId=" + one.ID
		}
		more = page.HasMore && len(page.Tasks) > 0
	}
	if len(seen) != tasks {
		t.Errorf("%d of %d tasks", len(seen), tasks)
	}
	w.call(w.owner, "GET", "/api/tasks?before=2026-01-01T00:00:00Z&beforeId=x", nil, 422, nil)
}
