package flow

import (
	"context"
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/document"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/tool"
)

// documentTypes are the kinds of document that can be made.
var documentTypes = map[string]string{
	"pdf": "application/pdf", "md": "text/markdown; charset=utf-8", "txt": "text/plain; charset=utf-8", "csv": "text/csv; charset=utf-8",
	"json": "application/json", "html": "text/html; charset=utf-8",
}

// createDocument makes a file of text and shares it in a room.
func (p *PlatformTools) createDocument() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "create_document", Category: "files",
				Description: "Make a file out of text and share it in a conversation. pdf is set from Markdown (headings, lists, tables, code, links); the other formats are stored as you write them.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"format":{"type":"string","enum":["pdf","md","txt","csv","json","html"],"description":"Kind of file."},` +
					`"filename":{"type":"string","minLength":1,"maxLength":200,"description":"Name of the file; the ending is added when it is missing."},` +
					`"content":{"type":"string","minLength":1,"description":"The whole text. For pdf: Markdown."},` +
					`"title":{"type":"string","maxLength":200,"description":"Title on the first page, pdf only."},` +
					`"caption":{"type":"string","maxLength":2000,"description":"Words that go with the file."},` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."}},` +
					`"required":["format","filename","content","conversation_id"]}`),
			},
			DisplayName: "Create a document", Tags: []string{"docs", "files"}, Limits: tool.Limits{PerMinute: 10, Args: 1 << 20, Timeout: time.Minute},
		},
		Handle: p.runCreateDocument,
	}
}

func (p *PlatformTools) runCreateDocument(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	room, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := p.mayPost(ctx, c, room); err != nil {
		return ToolResult{}, err
	}
	format, text := args.Text("format"), args.Text("content")
	content := []byte(text)
	switch format {
	case "pdf":
		if content, err = document.PDF(args.Text("title"), text, time.Now().UTC()); err != nil {
			return ToolResult{}, err
		}
	case "json":
		if !json.Valid(content) {
			return ToolResult{}, fault.New(fault.Invalid, "invalid_arguments", "content: this is not valid JSON.")
		}
	}
	name := args.Text("filename")
	if !strings.EqualFold(path.Ext(name), "."+format) {
		name += "." + format
	}
	row, m, err := p.Files.Share(ctx, c.Agent, room, name, documentTypes[format], content, args.Text("caption"))
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "shared", "attachmentId": row.ID, "messageId": m.ID, "filename": row.Filename, "sizeBytes": row.SizeBytes})
}
