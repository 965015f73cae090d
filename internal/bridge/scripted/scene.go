package scripted

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// scene is one prepared answer.
type scene struct {
	think int // paces before the first word
	slow  int // paces per word
	tools []toolScene
	text  string
	err   error
}

type toolScene struct{ name, label string }

// choose finds the scene for a question: the first keyword it contains, else
// an introduction in a new room and a plain echo later.
func choose(question string, zh, first bool) scene {
	q := strings.ToLower(question)
	words := strings.FieldsFunc(q, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	// English keywords match whole words, Chinese ones anywhere.
	has := func(keys ...string) bool {
		for _, k := range keys {
			if slices.Contains(words, k) || (strings.ContainsFunc(k, func(r rune) bool { return r > unicode.MaxASCII || r == ' ' }) && strings.Contains(q, k)) {
				return true
			}
		}
		return false
	}
	switch {
	case has("help", "帮助", "能做什么", "what can you"):
		return scene{think: 20, text: pick(zh, helpZH, helpEN)}
	case has("slow", "慢"):
		return scene{think: 40, slow: 14, text: pick(zh, slowZH, slowEN)}
	case has("long", "长回复", "长一点", "长文") || q == "长":
		return scene{think: 30, text: long(zh)}
	case has("table", "表格"):
		return scene{think: 20, text: pick(zh, tableZH, tableEN)}
	case has("code", "代码"):
		return scene{think: 30, tools: []toolScene{{"read_script", pick(zh, "翻到代码那一页", "Turning to the page with code")}}, text: pick(zh, codeZH, codeEN)}
	case has("list", "lists", "列表", "清单"):
		return scene{think: 15, text: pick(zh, listZH, listEN)}
	case has("tool", "工具"):
		return scene{think: 20, tools: []toolScene{
			{"look_around", pick(zh, "四处看看", "Looking around")},
			{"count_to_three", pick(zh, "数到三", "Counting to three")},
		}, text: pick(zh, toolZH, toolEN)}
	case has("mention", "提到"):
		return scene{think: 15, text: pick(zh, mentionZH, mentionEN)}
	case has("rate limit", "限流"):
		e := backend.Errorf(backend.CodeRate, "%s", pick(zh, "这是演示用的限流错误，一分钟后解除。", "A rate limit, for demonstration. It lifts in a minute."))
		e.ResetAt = time.Now().Add(time.Minute)
		return scene{think: 15, err: e}
	case has("fail", "error", "失败", "错误", "出错"):
		return scene{think: 15, err: backend.Errorf(backend.CodeModel, "%s", pick(zh, "这是演示用的失败：真实的模型错误就会这样显示。", "A failure, for demonstration: this is how a real model error looks."))}
	case has("empty", "沉默"):
		return scene{think: 20}
	case first || has("hello", "hi", "hey", "你好", "您好", "嗨"):
		return scene{think: 15, text: pick(zh, helloZH, helloEN)}
	}
	return scene{think: 15, text: pick(zh, echoZH, echoEN)}
}

func long(zh bool) string {
	var b strings.Builder
	b.WriteString(pick(zh, "下面是一段长回复，可以看看滚动、停止和“跳到最新”的表现。\n", "Here is a long answer, to see how scrolling, stopping and *jump to latest* behave.\n"))
	for i, p := range pickParts(zh) {
		b.WriteString("\n### ")
		b.WriteString(string(rune('1' + i)))
		b.WriteString(". ")
		b.WriteString(p[0])
		b.WriteString("\n\n")
		b.WriteString(p[1])
		b.WriteString("\n")
	}
	b.WriteString(pick(zh, "\n完。这一切都来自剧本。", "\nThe end. All of it came from a script."))
	return b.String()
}

func pickParts(zh bool) [][2]string {
	if zh {
		return partsZH
	}
	return partsEN
}
