package outbound

import "net"

// Public is the rule for addresses.
var Public = public

// Own makes the client believe that these are the addresses of this machine.
func (c *Client) Own(list ...string) {
	c.own = func() (out []net.Addr, err error) {
		for _, s := range list {
			ip, n, err := net.ParseCIDR(s)
			if err != nil {
				return nil, err
			}
			n.IP = ip
			out = append(out, n)
		}
		return out, nil
	}
}
