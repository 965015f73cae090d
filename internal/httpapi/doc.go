// Package httpapi is the REST edge: one struct and one file per feature, each
// with Mount. A handler decodes, authorises through the use case it calls, calls
// one function and encodes. Exceptions to the general error form: docs/http.md.
package httpapi
