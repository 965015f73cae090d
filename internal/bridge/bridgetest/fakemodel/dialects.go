package fakemodel

import "net/http"

type anthropic struct{}

func (anthropic) status(w http.ResponseWriter, status int) { writeError(w, status, true) }

func (anthropic) stream(e *emitter, model string, st Step) {
	usage := m{"input_tokens": 11, "output_tokens": 1, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 5}
	e.send("message_start", m{"type": "message_start", "message": m{
		"id": e.id("msg"), "type": "message", "role": "assistant", "model": model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
	index := 0
	if !st.Empty && st.Text != "" {
		e.send("content_block_start", m{"type": "content_block_start", "index": index, "content_block": m{"type": "text", "text": ""}})
		if !e.words(st, func(word string) {
			e.send("content_block_delta", m{"type": "content_block_delta", "index": index, "delta": m{"type": "text_delta", "text": word}})
		}) {
			return
		}
		e.send("content_block_stop", m{"type": "content_block_stop", "index": index})
		index++
	}
	stop := "end_turn"
	for i, t := range st.Tools {
		stop = "tool_use"
		id := e.id("toolu", i)
		e.send("content_block_start", m{"type": "content_block_start", "index": index, "content_block": m{"type": "tool_use", "id": id, "name": t.Name, "input": m{}}})
		e.send("content_block_delta", m{"type": "content_block_delta", "index": index, "delta": m{"type": "input_json_delta", "partial_json": t.Args}})
		e.send("content_block_stop", m{"type": "content_block_stop", "index": index})
		index++
	}
	e.send("message_delta", m{"type": "message_delta", "delta": m{"stop_reason": stop, "stop_sequence": nil}, "usage": m{"output_tokens": 9}})
	e.send("message_stop", m{"type": "message_stop"})
}

type chat struct{}

func (chat) status(w http.ResponseWriter, status int) { writeError(w, status, false) }

func (chat) stream(e *emitter, model string, st Step) {
	chunk := func(delta m, finish any) {
		e.send("", m{"id": e.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": model,
			"choices": []any{m{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(m{"role": "assistant", "content": ""}, nil)
	if !st.Empty && st.Text != "" && !e.words(st, func(word string) { chunk(m{"content": word}, nil) }) {
		return
	}
	finish := "stop"
	for i, t := range st.Tools {
		finish = "tool_calls"
		chunk(m{"tool_calls": []any{m{"index": i, "id": e.id("call", i), "type": "function", "function": m{"name": t.Name, "arguments": ""}}}}, nil)
		chunk(m{"tool_calls": []any{m{"index": i, "function": m{"arguments": t.Args}}}}, nil)
	}
	chunk(m{}, finish)
	e.send("", m{"id": e.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": model, "choices": []any{},
		"usage": m{"prompt_tokens": 11, "completion_tokens": 9, "total_tokens": 20, "prompt_tokens_details": m{"cached_tokens": 5}}})
	_, _ = e.w.Write([]byte("data: [DONE]\n\n"))
}

type responses struct{}

func (responses) status(w http.ResponseWriter, status int) { writeError(w, status, false) }

func (responses) stream(e *emitter, model string, st Step) {
	seq := 0
	send := func(kind string, v m) {
		v["type"], v["sequence_number"] = kind, seq
		seq++
		e.send(kind, v)
	}
	base := func(status string, output []any) m {
		r := m{"id": e.id("resp"), "object": "response", "created_at": 1, "status": status, "model": model, "output": output,
			"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}}
		if status == "completed" {
			r["usage"] = m{"input_tokens": 11, "input_tokens_details": m{"cached_tokens": 5}, "output_tokens": 9,
				"output_tokens_details": m{"reasoning_tokens": 0}, "total_tokens": 20}
		}
		return r
	}
	send("response.created", m{"response": base("in_progress", []any{})})
	var output []any
	if !st.Empty && st.Text != "" {
		item := m{"id": e.id("msg"), "type": "message", "role": "assistant", "status": "in_progress", "content": []any{}}
		send("response.output_item.added", m{"output_index": 0, "item": item})
		if !e.words(st, func(word string) {
			send("response.output_text.delta", m{"item_id": e.id("msg"), "output_index": 0, "content_index": 0, "delta": word})
		}) {
			return
		}
		done := m{"id": e.id("msg"), "type": "message", "role": "assistant", "status": "completed",
			"content": []any{m{"type": "output_text", "text": st.Text, "annotations": []any{}}}}
		send("response.output_item.done", m{"output_index": 0, "item": done})
		output = append(output, done)
	}
	for i, t := range st.Tools {
		call := m{"id": e.id("fc", i), "type": "function_call", "status": "completed", "call_id": e.id("call", i), "name": t.Name, "arguments": t.Args}
		if t.Namespace != "" {
			call["namespace"] = t.Namespace
		}
		send("response.output_item.added", m{"output_index": len(output), "item": call})
		send("response.output_item.done", m{"output_index": len(output), "item": call})
		output = append(output, call)
	}
	send("response.completed", m{"response": base("completed", output)})
}
