package approval

import (
	"fmt"
	"strings"
)

// titles are the tools of the CLIs that agents bring along, in words.
var titles = map[string]string{
	"Bash": runTitle, "shell": runTitle, "exec_command": runTitle, "Read": "Read a file", "Write": "Write a file", "Edit": editTitle, "MultiEdit": editTitle, "apply_patch": editTitle,
	"NotebookEdit": "Edit a notebook", "Glob": "Find files", "Grep": "Search in files", "LS": "List a folder", "WebFetch": "Fetch a web page", "WebSearch": "Search the web", "Task": "Start a helper",
}

const (
	runTitle  = "Run a command"
	editTitle = "Edit a file"
)

// LocalTitle is what a tool of an agent's CLI does, in English; for a tool of an MCP
// server its own name and the server's, and the name itself of one that nobody knows.
func LocalTitle(tool string) string {
	if s, ok := titles[tool]; ok {
		return s
	}
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		if server, name, ok := strings.Cut(rest, "__"); ok && name != "" {
			return name + " of " + server
		}
	}
	return tool
}

// Words say in English what of its tool the grant covers.
func (g Grant) Words() string {
	facet := ""
	if g.Facet != nil {
		facet = *g.Facet
	}
	switch g.Kind {
	case ScopeExec:
		return fmt.Sprintf("Every command that begins with “%s”", facet)
	case ScopeDir:
		return "Every file below " + facet
	case ScopeHost:
		return "Everything at " + facet
	case ScopeDomain:
		return "Everything at " + facet + " and below"
	case ScopeExact:
		return "Exactly one call, to the letter"
	case ScopeAny:
	}
	return "Every call of this tool"
}
