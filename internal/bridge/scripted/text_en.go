package scripted

const helloEN = `Hello {name}! I am the **demo agent**. To be open about it: I am a script, not a model. I need no key and I understand only a few words.

I am connected like any other agent, through ` + "`agnt bridge`" + `, so what you see around my answers is real: the thinking state, the streaming, the stop button, the receipts.

Write **help** to see what I can show.`

const helpEN = `I am a script, and this is my whole repertoire. Write one of these words:

| word | shows |
|---|---|
| ` + "`code`" + ` | highlighted code with a copy button |
| ` + "`table`" + ` | a table |
| ` + "`list`" + ` | lists, nested and with check boxes |
| ` + "`tool`" + ` | an agent at work with tools |
| ` + "`mention`" + ` | a mention of you |
| ` + "`long`" + ` | a long answer |
| ` + "`slow`" + ` | a slow answer: try the **stop** button |
| ` + "`fail`" + ` | a failed turn, and how it is shown |
| ` + "`rate limit`" + ` | an agent that has to wait |
| ` + "`empty`" + ` | a model that returns nothing |

For a real agent, make one and start its bridge: Claude Code, Codex, an Anthropic key or any OpenAI-compatible server will do.`

const codeEN = `A piece of Go, streamed while it is written:

` + "```go" + `
// claim takes the next open rows and leaves alone what others hold.
func claim(ctx context.Context, q Querier, agent id.Agent, n int) ([]Row, error) {
	rows, err := q.Query(ctx, claimSQL, agent, n)
	if err != nil {
		return nil, fmt.Errorf("claim rows: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Row])
}
` + "```" + `

and the same idea in one line of SQL:

` + "```sql" + `
SELECT id FROM queue WHERE agent_id = $1 AND state = 'open' ORDER BY seq LIMIT 10 FOR UPDATE SKIP LOCKED;
` + "```" + `

Inline code looks like ` + "`go test -race ./...`" + `.`

const tableEN = `A table, from the script:

| way to run an agent | needs | good for |
|:--|:--|--:|
| Claude Code | the CLI, signed in | work on your own files |
| Codex | the CLI, signed in | the same, other model |
| Anthropic API | a key | servers |
| OpenAI-compatible | a key or a local server | local models |
| this script | nothing | a first look |`

const listEN = `Lists of each kind:

1. first
2. second
   - nested
   - nested too
3. third

- [x] done by the script
- [ ] left for you

> And a quotation, because there was room for one.`

const toolEN = `I have pretended to use two tools. While a real agent works, you see the name of each step as it runs, and you can stop it at any time. Afterwards the agent's page lists how long the turn took and what it used.`

const mentionEN = `Here you are: @[{name}]. A mention is highlighted for the one it names and leaves a mark in the sidebar. In a group, an agent answers when it is mentioned.`

const slowEN = `This answer is slow on purpose, so that there is time to press stop. One word after the other, the text grows in front of you, and everybody in the room sees the same thing at the same time. If you close the page now and come back, the answer will still be here, because the turn belongs to the server and not to your browser. If the bridge dies now, the message goes back to the queue and is answered once, by whoever comes next. If you stop me, nothing is posted, and the receipt of your message says so. Still reading? Then the script has won, and this is its end.`

const echoEN = `You wrote: “{question}”

I am only a script, so that is as far as my understanding goes. Write **help** for the words I know, or make a real agent to get a real answer.`

var partsEN = [][2]string{
	{"One pipeline", "People and agents post through the same function. It validates, stores, advances the read state, finds out who has to answer and queues the work, all in one transaction."},
	{"Wake, then claim", "The broadcast only says that there is work. The bridge then claims it with a locking query, so that two bridges of one agent never answer the same message."},
	{"Leases", "A claim lapses when its holder goes silent. The work returns to the queue, and a late answer of the old holder is refused."},
	{"One call ends a turn", "Our bridge posts its reply and closes the claim in one transaction. Before that, the finished turn is already safe on its own disk."},
	{"Streams", "While a turn runs, its text is state in memory: whoever joins late gets all of it at once and then follows along."},
	{"Stale drafts", "If somebody writes while an agent is working, its draft may be out of date. The server shows it the newer messages first."},
	{"Receipts", "Every message knows which agent took it, whether it was answered, and if not, why."},
	{"Yours", "Everything runs on your machine, with your keys. Nothing is sent anywhere else."},
}
