package install

import (
	"errors"
	"path/filepath"

	"github.com/agntchat/agntchat/integrations"
)

// mcp names the server of tools in a file of the form that most programs read: {"mcpServers": {…}}.
func (o Options) mcp() (Plan, error) {
	if o.File == "" {
		return Plan{}, errors.New("the file to change is needed")
	}
	entry := object{"command": o.Program, "args": o.serverArgs("other")}
	c, err := editJSON(o.File, []edit{{path: []string{"mcpServers", serverName}, value: entry, ours: ourServer}}, o.Remove)
	return Plan{Changes: []Change{c}}, err
}

// ourServer says whether a server of tools is ours: one that runs `agnt letter mcp`, of whatever path.
func ourServer(v any) bool {
	entry, _ := v.(object)
	args, _ := entry["args"].([]any)
	return len(args) > 1 && args[0] == "letter" && args[1] == "mcp"
}

// pi puts an extension into pi's folder.
func (o Options) pi() (Plan, error) {
	root := o.PiDir
	if root == "" {
		root = filepath.Join(o.Home, ".pi", "agent")
	}
	return o.pieces(Pi, root, "Start pi anew.")
}

// opencode puts a plugin into opencode's folder.
func (o Options) opencode() (Plan, error) {
	root := o.ConfigDir
	if root == "" {
		root = filepath.Join(o.Home, ".config")
	}
	return o.pieces(Opencode, filepath.Join(root, "opencode"), "Start opencode anew.")
}

// pieces puts what a host loads itself into its folder.
func (o Options) pieces(h Host, root, next string) (Plan, error) {
	files := integrations.For(string(h))
	settings, err := integrations.Settings(o.Program, o.User)
	if err != nil {
		return Plan{}, err
	}
	files[integrations.SettingsFile] = settings
	changes, err := own(root, files, o.Remove)
	p := Plan{Changes: changes, dirs: []string{filepath.Dir(filepath.Join(root, filepath.FromSlash(integrations.SettingsFile)))}}
	if !o.Remove {
		p.Next = []string{next}
	}
	return p, err
}
