"""Small stand-ins for engines other than SGLang: their lines, their endpoints, and how they refuse to start."""
