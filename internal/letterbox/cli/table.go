package cli

import (
	"fmt"
	"slices"
	"strings"
)

// table is every command of this package, in the order of the help.
func table() []Command {
	peer := Flag{[]string{"--peer"}, "PEER", "contact's name or address"}
	save := Flag{[]string{"--save"}, "", "keep a sealed copy for `history` and `show` (or set RETALK_SAVE_MESSAGE=1)"}
	as := Flag{[]string{"--as"}, "NAME", "name to give the contact"}
	quiet := Flag{[]string{"--quiet", "-q"}, "", "say nothing on stderr but errors"}
	follow := Flag{[]string{"--follow"}, "", "go on until stopped"}
	interval := Flag{[]string{"--interval"}, "SECONDS", "pause between two looks (with --follow; default 2)"}
	return []Command{
		{
			Name: "init", Summary: "make an identity", Run: (*Call).initialise,
			Help: "Makes keys in a folder of their own and publishes the public ones at the relay. Prints the address (32 hexadecimal characters) that others reach the identity by.\n" +
				"A lost passphrase cannot be recovered, and neither can what it protects. Without --user, RETALK_USER and --dir the name is your login name and a number.",
			Flags: []Flag{{[]string{"--display-name"}, "NAME", "what your letters say you are called (default: the user name)"}, {[]string{"--no-register"}, "", "publish nothing yet"}},
		},
		{
			Name: "id", Summary: "show your address, your card, or an invitation", Run: (*Call).id,
			Help: "Prints the address. A card carries the public keys too; an invitation is a block of shell commands to send to a person.",
			Flags: []Flag{
				{[]string{"--card"}, "", "print the card for people"}, as,
				{[]string{"--invite-message"}, "", "print commands by which somebody can write to you"},
				{[]string{"--code"}, "CODE", "put this invite code into the invitation"}, {[]string{"--last"}, "", "put the newest good invite code into the invitation"},
				{[]string{"--invite-reply"}, "", "print the command by which somebody who invited you adds you"},
			},
		},
		{
			Name: "add", Usage: "ADDRESS [--peer NAME]", Summary: "save a contact", Run: (*Call).add, Max: 1,
			Help:  "Saves an address under a name. Without an identity, or with --global, the contact is one of all your identities. Saving an address again forgets its keys: verify it again.",
			Flags: []Flag{{[]string{"--peer"}, "NAME", "name of the contact"}, {[]string{"--override"}, "", "take the name from the contact that has it"}, {[]string{"--global"}, "", "for all your identities"}, {[]string{"--verify"}, "", "fetch its keys from the relay and pin them"}},
		},
		{
			Name: "verify", Usage: "PEER", Summary: "pin a contact's keys", Run: (*Call).verify, Max: 1,
			Help:  "Fetches the contact's keys from the relay, or takes those given, checks that they are the address's, and records them. Keys that are not end it with PIN MISMATCH.",
			Flags: []Flag{{[]string{"--identity-key"}, "KEY", "with --signing-key: check these instead of asking the relay"}, {[]string{"--signing-key"}, "KEY", "see --identity-key"}},
		},
		{
			Name: "contacts", Summary: "list contacts", Run: (*Call).contacts,
			Help:  "Prints name, address and whether the keys are verified, separated by tabs.",
			Flags: []Flag{{[]string{"--show"}, "PEER", "only this one; with --json its card"}, {[]string{"--remove"}, "PEER", "forget this one"}, as},
		},
		{
			Name: "send", Usage: "TEXT (--peer PEER | --group GROUP)", Summary: "send a letter", Run: (*Call).send, Max: 1,
			Help: "Encrypts TEXT for its recipient and leaves it at the relay. It stays in the outbox until the recipient acknowledged it. TEXT `-` is read from standard input.\n" +
				"PIN MISMATCH (exit code 1) means that the relay gave keys that are not the recipient's: nothing was sent, and nothing should be until you know why.",
			Flags: []Flag{peer, {[]string{"--group"}, "GROUP", "a copy to each member"}, save},
		},
		{
			Name: "receive", Usage: "(--peer PEER … | --all)", Summary: "fetch letters", Run: (*Call).receive,
			Help: "Prints each new letter of the chosen senders as one line of JSON. What others wrote stays at the relay. A line with `text` is a letter, one with `kind` is not.\n" +
				"A letter is acknowledged after its line was written. Should the program be killed just then, the line comes again with the same id.\n" +
				"PIN MISMATCH (exit code 1) means that the relay gave keys that are not the sender's: nothing was taken.",
			Flags: []Flag{
				{[]string{"--peer"}, "PEER", "letters of this sender; may be given several times"}, {[]string{"--all"}, "", "letters of everybody"}, follow, interval, quiet,
				{[]string{"--peers-only"}, "", "refuse letters of senders that are no contacts"}, {[]string{"--no-save-contacts"}, "", "do not keep shared contacts for `import --inbox`"}, save,
			},
		},
		{
			Name: "history", Usage: "[--peer PEER | --group GROUP]", Summary: "print kept letters", Run: (*Call).history,
			Help: "Prints the letters kept with --save, the oldest first. It needs the passphrase and no relay.", Flags: []Flag{peer, {[]string{"--group"}, "GROUP", "letters of this group"}},
		},
		{
			Name: "show", Usage: "USER PEER | USER --web", Summary: "show kept letters as a conversation", Run: (*Call).show, Max: 2,
			Help:  "Shows the letters kept with --save. With --dir DIR the user is not named. --follow also fetches what comes. --web serves a page on this machine, whose address carries a secret.",
			Flags: []Flag{{[]string{"--group"}, "GROUP", "instead of a peer"}, follow, {[]string{"--web"}, "", "serve a page on 127.0.0.1"}, {[]string{"--port"}, "PORT", "of the page (default 8765)"}},
		},
		{
			Name: "group", Usage: "create|list|members|add|remove|rename|leave|join|delete [NAME] [MEMBERS]", Summary: "manage groups", Run: (*Call).group, Max: 3,
			Words: []string{"create", "list", "members", "add", "remove", "rename", "leave", "join", "delete"},
			Help:  "A group is a list of members on your side; a letter to it is a copy to each. Members learn the list from the letters. MEMBERS is a list of names or addresses with commas; for rename it is the new name.",
			Flags: []Flag{{[]string{"--members"}, "LIST", "members, with commas"}},
		},
		{
			Name: "share", Usage: "CONTACT --peer PEER", Summary: "introduce a contact to a peer", Run: (*Call).share, Max: 1,
			Help: "Sends the contact's card as a letter. The keys are on it when they are verified; the recipient checks them.", Flags: []Flag{peer, as},
		},
		{
			Name: "import", Usage: "[CARD | -]", Summary: "save a contact card; take over a retalk identity", Run: (*Call).importCard, Max: 1,
			Help: "Saves a card (JSON, or from standard input). --inbox saves those that `receive` kept: all, or the one named.\n" +
				"--from-retalk reads the store.db in the identity's folder and makes an identity of ours beside it: keys, sessions, contacts, groups, invites, letters under way and history. store.db is only read. From then on use one of the two programs only.",
			Flags: []Flag{as, {[]string{"--inbox"}, "", "cards that were shared with you"}, {[]string{"--list"}, "", "with --inbox: only show them"}, {[]string{"--from-retalk"}, "", "take over a retalk identity"}},
		},
		{
			Name: "block", Usage: "[PEER]", Summary: "refuse somebody's letters", Run: (*Call).block, Max: 1,
			Help: "Letters of a blocked sender are refused unopened.", Flags: []Flag{{[]string{"--remove"}, "", "take letters again"}, {[]string{"--list"}, "", "show who is blocked"}},
		},
		{
			Name: "invite", Usage: "new|list|revoke|watch [CODE]", Summary: "let strangers become contacts", Run: (*Call).invite, Max: 2,
			Words: []string{"new", "list", "revoke", "watch"},
			Help: "new makes a code for one use within 7 days; with it somebody runs `agnt letter request`. watch answers requests: a good code makes its sender a contact with pinned keys. " +
				"It takes no other letter.",
			Flags: []Flag{{[]string{"--peer"}, "NAME", "name that the contact will get"}, {[]string{"--permanent"}, "", "for many uses, without an end"}, {[]string{"--expires"}, "DAYS", "days until it ends (0: never)"}, follow, interval, quiet},
		},
		{
			Name: "request", Usage: "INVITER --code CODE", Summary: "become a contact by an invite code", Run: (*Call).request, Max: 1,
			Help: "Saves and verifies the inviter and sends it your card with the code.", Flags: []Flag{{[]string{"--code"}, "CODE", "the invite code"}, {[]string{"--peer"}, "NAME", "name for the inviter"}},
		},
		{Name: "sync", Summary: "publish keys, send again what nobody acknowledged", Run: (*Call).sync, Help: "Prints what was done as JSON. Letters that did not go out are told on stderr."},
		{Name: "register", Summary: "publish keys", Run: (*Call).sync, Help: "As sync, without sending anything."},
		{
			Name: "outbox", Usage: "[retry ID | drop ID | state ID]", Summary: "where your letters are", Run: (*Call).outbox, Max: 2, Words: []string{"retry", "drop", "state"},
			Flags: []Flag{{[]string{"--all"}, "", "also the last thousand that were acknowledged"}},
			Help:  "Prints id, address, state, age and problem of the letters that nobody acknowledged yet; state ID prints that of one letter. States: queued (not at the relay yet), at_relay, acknowledged (its recipient has it), refused (its recipient would not have it), dead (given up). Letters that came and could not be opened are listed as unreadable, under the hash of their ciphertext; their senders were asked for another copy.",
		},
		{
			Name: "passphrase", Usage: "change|set|remove [--new-passphrase-file FILE]", Summary: "change what protects your keys", Run: (*Call).rekey, Max: 1,
			Words: []string{"change", "set", "remove"},
			Help: "Seals the identity anew: change with another passphrase, set one where there was none, remove it. Killed at any moment, it opens with the old one or with the new one. " +
				"The old passphrase is taken from --passphrase-file or the environment, the new one from its own file only.",
			Flags: []Flag{{[]string{"--new-passphrase-file"}, "FILE", "file that holds the new passphrase (- for standard input)"}},
		},
		{
			Name: "padding", Usage: "[on|off [--peer PEER]]", Summary: "hide how long letters are", Run: (*Call).padding, Max: 1, Words: []string{"on", "off"},
			Help: "Letters are filled up to one of a few sizes, so that a relay cannot tell a short one from a shorter one. Other clients ignore the filling. off sends them as they are: to everybody, or to one peer whose client cannot take it. " +
				"Without a word it prints what is set.",
			Flags: []Flag{peer},
		},
		{
			Name: "config", Summary: "settings of all your identities", Run: (*Call).configure, Bare: true,
			Help: "Prints the settings as JSON.", Flags: []Flag{{[]string{"--relay", "-r"}, "URL", "relay of identities that name none (\"\" for none)"}},
		},
		{
			Name: "completion", Usage: "bash|zsh|fish", Summary: "shell completion", Run: (*Call).completion, Bare: true, Max: 1, Words: []string{"bash", "zsh", "fish"},
			Help: "Prints a script for the shell. For bash: source <(agnt letter completion bash)",
		},
	}
}

// chapters are the commands as the overview has them. Others come at its end.
var chapters = []struct {
	title string
	names []string
}{
	{"Begin", []string{"init", "id"}},
	{"Letters", []string{"send", "receive", "history", "show", "outbox"}},
	{"People and groups", []string{"add", "verify", "contacts", "share", "import", "block", "invite", "request", "group"}},
	{"In the background, for agent sessions", []string{"follow", "session", "unread", "monitor", "mcp", "wake", "install", "uninstall"}},
	{"Keys and settings", []string{"sync", "register", "passphrase", "padding", "config", "completion"}},
}

// overview is the help of `agnt letter`.
func overview(commands []Command) string {
	var b strings.Builder
	b.WriteString("agnt letter exchanges end-to-end encrypted letters between agents and people through a relay that cannot read them.\n")
	line := func(c Command) {
		if !c.Hidden {
			_, _ = fmt.Fprintf(&b, "  agnt letter %-11s %s\n", c.Name, c.Summary)
		}
	}
	var told []string
	for _, chapter := range chapters {
		_, _ = fmt.Fprintf(&b, "\n%s:\n", chapter.title)
		for _, name := range chapter.names {
			if c, ok := find(commands, name); ok {
				line(c)
			}
		}
		told = append(told, chapter.names...)
	}
	for _, c := range commands {
		if !slices.Contains(told, c.Name) {
			line(c)
		}
	}
	b.WriteString(`
Who acts (the first match wins): --dir DIR, --user NAME, RETALK_USER, RETALK_DIR. The relay: --relay, RETALK_RELAY, the identity's own,
the one of config.json. The passphrase: --passphrase, --passphrase-file, RETALK_PASSPHRASE_FILE, RETALK_PASSPHRASE.
Also read: RETALK_HOME (default ~/.retalk), RETALK_API_KEY, RETALK_SAVE_MESSAGE, RETALK_USER_AGENT.
Flags may stand before or after other words, those named here also before the command. Each command explains itself with --help.

Exit codes: 0 success; 2 wrong usage, a refusal, or a relay that fails; 1 PIN MISMATCH while sending or receiving.
`)
	return b.String()
}

// flagColumn is how wide the names of flags may be beside what is said of them.
const flagColumn = 32

// help is the help of one command.
func help(c Command) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s\n\n%s\n\nFlags:\n", strings.TrimSpace("agnt letter "+c.Name+" "+c.Usage), c.Help)
	flags := c.Flags
	if !c.Bare {
		flags = slices.Concat(flags, common)
	}
	for _, f := range slices.Concat(flags, everywhere) {
		names := strings.TrimSpace(strings.Join(f.Names, ", ") + " " + f.Value)
		if len(names) > flagColumn {
			names += fmt.Sprintf("\n%*s", flagColumn+2, "")
		}
		_, _ = fmt.Fprintf(&b, "  %-*s %s\n", flagColumn, names, f.Help)
	}
	return b.String()
}
