// Package speak decides who is woken by a message and who is mentioned in it:
// pure functions over facts that flow has loaded (decisions 9 and 10). It reads
// nothing and stores nothing.
package speak
