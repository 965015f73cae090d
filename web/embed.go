// Package web embeds the built web client. It owns nothing but the files: how
// they are served (headers, caching, the fallback to index.html) is the HTTP
// edge's business.
package web

import (
	"embed"
	"io/fs"
)

// A committed placeholder keeps this pattern valid in a fresh clone, before
// the client is built.
//
//go:embed all:dist
var dist embed.FS

// Dist returns the files of the built client, rooted at the folder that holds
// index.html. Before the first build it holds only placeholder.txt, so a
// caller looks for index.html and says so when it is missing.
func Dist() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		// fs.Sub fails only on an invalid path, and this one is a constant.
		panic("web: " + err.Error())
	}
	return sub
}
