"""Steps of the spec executed on Aeron's own Java classes, and what comes of them compared."""
