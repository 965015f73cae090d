package alarmcli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
	"github.com/agntchat/agntchat/internal/letterbox/install"
	"github.com/agntchat/agntchat/internal/letterbox/post"
)

func (r *Runner) installCommands() []cli.Command {
	var words []string
	for _, h := range install.Hosts {
		words = append(words, string(h))
	}
	hosts := strings.Join(words, "|")
	dry := cli.Flag{Names: []string{"--dry-run"}, Help: "only show what would change"}
	file := cli.Flag{Names: []string{"--file"}, Value: "FILE", Help: "for mcp: the file with mcpServers"}
	return []cli.Command{
		{
			Name: "install", Usage: hosts, Summary: "let letters reach the sessions of a program", Max: 1, Words: words,
			Help: "Puts hooks, tools and what else the program knows into its settings, and shows each line that it changes. Settings and entries of others stay. A second run changes nothing. " +
				"--check changes nothing and ends with 2 when a piece is missing or another one. The passphrase's file, when one is named, is what the tool that sends uses.",
			Flags: []cli.Flag{dry, {Names: []string{"--check"}, Help: "say whether all is in place"}, file},
			Run:   func(c *cli.Call, _ context.Context) error { return r.install(c, false) },
		},
		{
			Name: "uninstall", Usage: hosts, Summary: "take that out again", Max: 1, Words: words,
			Help:  "Takes out exactly what install put in, and shows it. Letters, settings and cursors stay.",
			Flags: []cli.Flag{dry, file},
			Run:   func(c *cli.Call, _ context.Context) error { return r.install(c, true) },
		},
	}
}

func (r *Runner) install(c *cli.Call, remove bool) error {
	host := install.Host(c.Pos(0))
	if !slices.Contains(install.Hosts, host) {
		names := make([]string, len(install.Hosts))
		for i, h := range install.Hosts {
			names[i] = string(h)
		}
		return fmt.Errorf("name one of %s", strings.Join(names, ", "))
	}
	o := install.Options{
		Program: r.Program, Version: r.Version, Remove: remove, Home: r.Places.UserHome, ClaudeDir: r.Places.ClaudeConfigDir, CodexDir: r.Places.CodexHome,
		PiDir: r.Places.PiDir, ConfigDir: r.Places.ConfigHome, DataDir: r.Places.AgntHome, File: c.Get("--file"),
	}
	if host == install.MCP && o.File == "" {
		return errors.New("mcp needs --file FILE, for example .mcp.json, or the configuration of the program")
	}
	if !remove {
		if _, err := r.user(c); err != nil {
			return err
		}
		dir, err := c.Dir()
		if err != nil {
			return err
		}
		if o.User, err = filepath.Abs(dir); err != nil {
			return err
		}
		if secret := c.Get("--passphrase-file"); secret != "" {
			if o.Secret, err = filepath.Abs(secret); err != nil {
				return err
			}
		} else if secret := c.Env.PassphraseFile; secret != "" {
			if o.Secret, err = filepath.Abs(secret); err != nil {
				return err
			}
		}
	}
	p, err := install.Make(host, o)
	if err != nil {
		return err
	}
	show := p.Show
	if c.Has("--json") {
		show = p.ShowJSON
	}
	if err := show(c.Out); err != nil {
		return err
	}
	switch {
	case c.Has("--check") && len(p.Changes) > 0:
		files := fmt.Sprintf("%d files are", len(p.Changes))
		if len(p.Changes) == 1 {
			files = "a file is"
		}
		return fmt.Errorf("%s not as it should be; run: agnt letter install %s", files, post.Printable(string(host), 20))
	case len(p.Changes) == 0:
		c.Say("All is as it should be.")
		return nil
	case c.Has("--dry-run"):
		c.Say("Nothing was changed.")
		return nil
	}
	if err := p.Apply(); err != nil {
		return err
	}
	for _, next := range p.Next {
		c.Say("%s", next)
	}
	if !remove {
		c.Say("Letters come while they are fetched: agnt letter follow start --peer PEER. They wake a session only after: agnt letter wake on.")
	}
	return nil
}
