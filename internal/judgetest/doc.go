// Package judgetest is an independent judge of the server: clients and golden
// exchanges written from the two wire contracts alone, before the handlers
// existed, and never recorded from a running server (decision 34).
//
// It owns a re-implementation of the stock bridge (contract bridge 1 to 5, 8
// and 9), of the SDK client (bridge 2.12), of the desktop client (contract
// desktop 1 to 3, 4.1 to 4.4, 5.1, 5.2, 6 and 9), and the golden files in
// testdata. It imports no other package of this module: what it
// knows about the server is what travels on the wire.
//
// It does not own the server it judges. A test elsewhere starts one and calls
// the functions of suite.go and gateway.go with its address; package README has the details.
package judgetest
