"""Front ends for programs: servers that speak a protocol of agents."""
