package outbound

// Public is the rule for addresses.
var Public = public
