"""Models behind a server that speaks OpenAI's protocol: asked by HTTP, measured like any other."""
